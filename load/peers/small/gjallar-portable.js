// gjallar on portable sockets, as the one-line swap in an application: the same set-up as socketio-ws, on node:http.

import { createServer } from 'node:http';
import { ready, settings, unavailable } from '../support/control.js';
import { library } from '../support/library.js';
import { runApplication } from './application.js';

const { host, pingInterval, pingTimeout, flushMs, maxBackpressure = 0 } = settings;

// Read once, when the library is loaded.
process.env.GJALLAR_SOCKETS = 'portable';

const gjallar = await library();
if (gjallar === null) {
  unavailable('dist/ is missing; npm run build');
} else {
  const server = createServer();
  // As for the other peers, no limit for one client. maxBackpressure of 0 is none.
  const options = { pingInterval, pingTimeout, flushMs, maxBackpressure };
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  runApplication(new gjallar.Server(server, given));
  server.listen(0, host, () => ready(server.address().port));
}
