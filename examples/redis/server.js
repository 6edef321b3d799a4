// Rooms that span processes and machines: gjallar's rooms, connected by the Redis adapter of Socket.IO.
import { createServer } from 'node:http';
import { createAdapter } from '@socket.io/redis-adapter';
import { Server } from 'gjallar';
import { Redis } from 'ioredis';

const publisher = new Redis(process.env.REDIS_URL ?? 'redis://localhost:6379');
const subscriber = publisher.duplicate();
// Without a listener, an error of the connection would end the process. ioredis reconnects by itself.
for (const client of [publisher, subscriber]) client.on('error', (error) => console.error(`Redis: ${error.message}`));

const server = createServer();
const io = new Server(server, { adapter: createAdapter(publisher, subscriber) });

io.on('connection', (socket) => {
  socket.on('join', (room, reply) => {
    socket.join(room);
    reply?.();
  });
  socket.on('say', (room, text) => io.to(room).emit('said', text));
});

const port = Number(process.env.PORT ?? 3000);
server.listen(port, () => console.log(`listening on ${port}`));
