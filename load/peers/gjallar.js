// gjallar used as a library: socket.io's API on our engine and our adapter. One worker, everything at its default.

import { Server } from 'socket.io';
import { runApplication } from './application.js';
import { settings, unavailable } from './control.js';
import { app, listen, maxBackpressure } from './uws-app.js';

const { pingInterval, pingTimeout, flushMs, slowPolicy } = settings;

/** The library as built by `npm run build`. */
async function library() {
  try {
    return await import('../../dist/index.js');
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return null;
  }
}

const gjallar = await library();
if (gjallar === null) {
  unavailable('dist/ is missing; npm run build');
} else {
  const engine = new gjallar.Engine({ pingInterval, pingTimeout, maxBackpressure, slowPolicy, flushMs });
  engine.attach(app, { path: '/socket.io/' });
  const io = new Server({ parser: gjallar.parser });
  io.bind(engine);
  if (gjallar.createAdapter) io.adapter(gjallar.createAdapter(engine));
  runApplication(io);
  listen();
}
