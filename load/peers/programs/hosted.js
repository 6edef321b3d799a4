// An application for `gjallar run`.

import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { applications } from '../applications.js';

const { HOST, PORT, SETTINGS } = process.env;
const settings = JSON.parse(SETTINGS);
const http = createServer();
const { pingInterval, pingTimeout, recovers, recovery = {} } = settings;
const io = new Server(http, { pingInterval, pingTimeout, ...(recovers ? { connectionStateRecovery: recovery } : {}) });
await applications[settings.application ?? 'small'].run(io, settings);
http.listen(PORT, HOST);
