// An application with the parts that the chat service is made of: who is where, and what was said.
import { createServer } from 'node:http';
import { SqliteHistoryStore } from 'gjallar/history';
import { Presence } from 'gjallar/presence';
import { Server } from 'socket.io';

const history = await SqliteHistoryStore.open({ dataDir: process.env.KEPT_IN });
const http = createServer();
const io = new Server(http);
const presence = new Presence(io);
presence.on('change', (room) => io.local.to(room).emit('users', [...presence.usersOf(room).users].sort()));
io.on('connection', (socket) => {
  presence.track(socket, socket.handshake.auth.user);
  socket.on('join', async (room, done) => {
    await socket.join(room);
    done(process.pid);
  });
  socket.on('leave', (room) => socket.leave(room));
  socket.on('users', (room, done) => done([...presence.usersOf(room).users].sort(), presence.usersOf(room).members));
  socket.on('keep', async (text, done) => {
    const [position] = await history.append('hall', [{ from: socket.handshake.auth.user, text, at: Date.now() }]);
    done(position);
  });
  socket.on('read', async (done) => done(await history.read('hall', { after: 0, limit: 100 })));
});
http.listen(0, '127.0.0.1');
