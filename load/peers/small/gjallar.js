// gjallar used as a library: socket.io's API on our engine and our adapter. One worker, everything at its default.

import { Server } from 'socket.io';
import { settings, unavailable } from '../support/control.js';
import { library } from '../support/library.js';
import { app, listen, maxBackpressure } from '../support/uws-app.js';
import { runApplication } from './application.js';

const { pingInterval, pingTimeout, flushMs } = settings;

const gjallar = await library();
if (gjallar === null) {
  unavailable('dist/ is missing; npm run build');
} else {
  const engine = new gjallar.Engine({ pingInterval, pingTimeout, maxBackpressure, flushMs });
  engine.attach(app, { path: '/socket.io/' });
  const io = new Server({ parser: gjallar.parser });
  io.bind(engine);
  if (gjallar.createAdapter) io.adapter(gjallar.createAdapter(engine));
  runApplication(io);
  listen();
}
