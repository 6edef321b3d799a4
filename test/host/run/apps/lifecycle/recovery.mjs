import { createServer } from 'node:http';
import { Server } from 'socket.io';

const server = createServer();
const io = new Server(server, { connectionStateRecovery: {} });

io.on('connection', (socket) => {
  const { user } = socket.handshake.auth;
  if (user && !socket.recovered) socket.data.user = user;
  socket.on('join', (...values) => {
    const done = values.pop();
    const [room = 'room'] = values;
    socket.data.since = process.pid;
    socket.join(room);
    socket.emit('said', 'welcome');
    done();
  });
  socket.on('say', (text, done) => {
    io.to('room').emit('said', text);
    done?.();
  });
  socket.on('state', (done) =>
    done({ pid: process.pid, recovered: socket.recovered, since: socket.data.since, rooms: socket.rooms.size }),
  );
  socket.on('talk', () => {
    talk();
    io.serverSideEmit('talk');
  });
  socket.on('die', () => process.kill(process.pid, 'SIGKILL'));
});

/** Sends without end, as applications do that do not know when they are stopped. */
function talk() {
  let number = 0;
  setInterval(() => io.to('room').emit('talk', process.pid, ++number), 5);
}
io.on('talk', talk);

server.listen(0);
