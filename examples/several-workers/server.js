// An application of stock socket.io. `gjallar run` runs this file in each worker, and its rooms span all of them.
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const server = createServer();
const io = new Server(server);

io.on('connection', (socket) => {
  socket.on('join', (room, reply) => {
    socket.join(room);
    reply?.({ worker: process.pid });
  });
  socket.on('say', (room, text) => io.to(room).emit('said', text));
  // Sockets of all workers.
  socket.on('count', async (room, reply) => reply((await io.in(room).fetchSockets()).length));
});

const port = Number(process.env.PORT ?? 3000);
server.listen(port, () => console.log(`listening on ${port}`));
