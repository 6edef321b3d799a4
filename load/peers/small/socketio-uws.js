// socket.io on uWebSockets.js through its own `attachApp`, everything else at its default.

import { Server } from 'socket.io';
import { settings } from '../support/control.js';
import { app, listen, maxBackpressure } from '../support/uws-app.js';
import { runApplication } from './application.js';

const { pingInterval, pingTimeout } = settings;
const io = new Server({ pingInterval, pingTimeout });
io.attachApp(app, { maxBackpressure });
runApplication(io);
listen();
