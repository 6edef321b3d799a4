// The application of the benchmark "state" for `gjallar run`.

import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { stateRoom } from '../../../dist/state/index.js';
import { runStateApplication } from './state-application.js';

const http = createServer();
runStateApplication(new Server(http), JSON.parse(process.env.SETTINGS), stateRoom);
http.listen(process.env.PORT, process.env.HOST);
