// Stock socket.io with the application of the benchmark "state".

import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { ready, settings } from '../support/control.js';
import { runStateApplication } from './state-application.js';

const { host, pingInterval, pingTimeout } = settings;
const server = createServer();
runStateApplication(new Server(server, { pingInterval, pingTimeout }), settings);
server.listen(0, host, () => ready(server.address().port));
