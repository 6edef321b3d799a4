// Stock socket.io on node:http and ws, set up as on its "Server Initialization" page, everything at its default.

import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { ready, settings } from '../support/control.js';
import { runApplication } from './application.js';

const { host, pingInterval, pingTimeout } = settings;
const server = createServer();
const io = new Server(server, { pingInterval, pingTimeout });
runApplication(io);
server.listen(0, host, () => ready(server.address().port));
