// socket.io on uWebSockets.js through its own `attachApp`, everything else at its default.

import { Server } from 'socket.io';
import { runApplication } from './application.js';
import { settings } from './control.js';
import { app, listen, maxBackpressure } from './uws-app.js';

const { pingInterval, pingTimeout } = settings;
const io = new Server({ pingInterval, pingTimeout });
io.attachApp(app, { maxBackpressure });
runApplication(io);
listen();
