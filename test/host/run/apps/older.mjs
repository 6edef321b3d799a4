// The oldest socket.io that gjallar supports.

import { createServer } from 'node:http';
import { Server } from 'socket.io-4.6';

const server = createServer();
const io = new Server(server, { connectionStateRecovery: {} });

io.on('connection', (socket) => {
  socket.on('worker', (done) => done({ pid: process.pid, recovered: socket.recovered }));
  socket.on('say', (text) => io.emit('said', text));
  socket.on('ask', async (done) => done(await io.timeout(3000).emitWithAck('question')));
  socket.on('count', async (done) => done((await io.fetchSockets()).length));
});

server.listen(0);
