// The middleware of Astro's documentation on a server of one's own, with Socket.IO on its port.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { Server } from 'socket.io';
import { handler } from './dist/server/entry.mjs';

const chat = createRequire(import.meta.url)('./chat.cjs');
const server = createServer((request, response) => {
  handler(request, response, () => {
    response.writeHead(404).end('no page');
  });
});
chat(new Server(server));
server.listen(Number(process.env.PORT), process.env.HOST);
