// Nitro's listener for a server of one's own, with Socket.IO on its port.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { Server } from 'socket.io';
import { listener } from './.output/server/index.mjs';

const chat = createRequire(import.meta.url)('./chat.cjs');
const server = createServer(listener);
chat(new Server(server));
server.listen(Number(process.env.PORT), process.env.HOST);
