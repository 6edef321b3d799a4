// gjallar used as a library, with the application of the benchmark "state": broadcasts, or a state room.

import { Server } from 'socket.io';
import { settings, unavailable } from '../support/control.js';
import { library } from '../support/library.js';
import { app, listen, maxBackpressure } from '../support/uws-app.js';
import { runStateApplication } from './state-application.js';

const { pingInterval, pingTimeout } = settings;

const gjallar = await library();
if (gjallar === null) {
  unavailable('dist/ is missing; npm run build');
} else {
  const { stateRoom } = await import('../../../dist/state/index.js');
  const engine = new gjallar.Engine({ pingInterval, pingTimeout, maxBackpressure });
  engine.attach(app, { path: '/socket.io/' });
  const io = new Server({ parser: gjallar.parser });
  io.bind(engine);
  io.adapter(gjallar.createAdapter(engine));
  runStateApplication(io, settings, stateRoom);
  listen();
}
