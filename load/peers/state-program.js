// What `gjallar run` runs for state-nodes.js.

import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { stateRoom } from '../../dist/state/index.js';
import { runStateApplication } from './state-application.js';

const http = createServer();
runStateApplication(new Server(http), JSON.parse(process.env.STATE_SETTINGS), stateRoom);
http.listen(process.env.PORT, process.env.HOST);
