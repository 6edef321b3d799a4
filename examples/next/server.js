// The custom server of Next.js: its pages and Socket.IO share one port. `gjallar/register` puts gjallar under Socket.IO.
import { createServer } from 'node:http';
import next from 'next';
import { Server } from 'socket.io';

const port = Number(process.env.PORT ?? 3000);
const dev = process.env.NODE_ENV !== 'production';
const app = next({ dev, dir: import.meta.dirname, hostname: 'localhost', port });
await app.prepare();

const server = createServer(app.getRequestHandler());
const io = new Server(server);

io.on('connection', (socket) => {
  socket.on('say', (text) => io.emit('said', text));
});

server.listen(port, () => console.log(`listening on ${port}`));
