// The custom server of adapter-node's documentation, with Socket.IO on its port.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { Server } from 'socket.io';
import { handler } from './build/handler.js';

const chat = createRequire(import.meta.url)('./chat.cjs');
const server = createServer((request, response) => handler(request, response));
chat(new Server(server));
server.listen(Number(process.env.PORT), process.env.HOST);
