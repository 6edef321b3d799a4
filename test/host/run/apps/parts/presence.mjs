// An application that asks who is where.
import { createServer } from 'node:http';
import { createPresence } from 'gjallar/presence';
import { Server } from 'socket.io';

const http = createServer();
const io = new Server(http);
const presence = createPresence(io);
presence.on('change', (room) => io.local.to(room).emit('users', [...presence.usersOf(room).users.keys()].sort()));
io.on('connection', (socket) => {
  presence.track(socket, socket.handshake.auth.user);
  socket.on('join', async (room, done) => {
    await socket.join(room);
    done(process.pid);
  });
  socket.on('leave', (room) => socket.leave(room));
  socket.on('users', (room, done) =>
    done([...presence.usersOf(room).users.keys()].sort(), presence.usersOf(room).members),
  );
});
http.listen(0, '127.0.0.1');
