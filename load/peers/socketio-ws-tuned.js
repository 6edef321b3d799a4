// Stock socket.io with what its "Performance tuning" page advises and needs no other package: one transport, no client
// bundle, and the handshake's request dropped once the connection stands. (Its native add-ons for ws are left out: they
// unmask large messages and check UTF-8 faster, and nothing here sends large messages to the server.)

import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { runApplication } from './application.js';
import { ready, settings } from './control.js';

const { host, pingInterval, pingTimeout } = settings;
const server = createServer();
const io = new Server(server, { pingInterval, pingTimeout, transports: ['websocket'], serveClient: false });
io.engine.on('connection', (connection) => {
  connection.request = null;
});
runApplication(io);
server.listen(0, host, () => ready(server.address().port));
