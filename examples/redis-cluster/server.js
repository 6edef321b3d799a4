// An unmodified Socket.IO application. `gjallar run` connects its workers on all machines through GJALLAR_REDIS_URL.
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const server = createServer();
const io = new Server(server);

io.on('connection', (socket) => {
  socket.on('join', (room, reply) => {
    socket.join(room);
    reply?.();
  });
  socket.on('say', (room, text) => io.to(room).emit('said', text));
  socket.on('count', async (room, reply) => reply((await io.in(room).fetchSockets()).length));
});

const port = Number(process.env.PORT ?? 3000);
server.listen(port, () => console.log(`listening on ${port}`));
