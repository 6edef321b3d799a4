// Express and stock Socket.IO on node:http.

import { Server } from 'socket.io';
import { serveExpress } from './express-application.js';

serveExpress(Server);
