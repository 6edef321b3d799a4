import { createServer } from 'node:http';
import { Server } from 'socket.io';

const server = createServer();
const io = new Server(server, { connectionStateRecovery: {} });

io.on('connection', (socket) => {
  socket.on('join', (done) => {
    socket.data.since = process.pid;
    socket.join('room');
    socket.emit('said', 'welcome');
    done();
  });
  socket.on('say', (text, done) => {
    io.to('room').emit('said', text);
    done?.();
  });
  socket.on('state', (done) => done({ pid: process.pid, recovered: socket.recovered, since: socket.data.since }));
  socket.on('die', () => process.kill(process.pid, 'SIGKILL'));
});

server.listen(0);
