// A small application of stock Socket.IO, for `gjallar run`.

import { createServer } from 'node:http';
import { Server } from 'socket.io';

const http = createServer();
new Server(http, { serveClient: false });
http.listen(0, process.env.HOST);
