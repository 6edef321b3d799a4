const { createServer } = require('node:http');
const { Server } = require('socket.io');

const server = createServer();
const io = new Server(server, { connectionStateRecovery: { maxDisconnectionDuration: 60_000, skipMiddlewares: true } });
io.use((socket, next) => {
  socket.data.middleware = (socket.data.middleware ?? 0) + 1;
  next();
});
io.on('connection', (socket) => {
  socket.join('room');
  socket.data.name ??= socket.handshake.auth.name;
  socket.on('say', (text) => io.to('room').emit('said', text));
  socket.on('cut', () => socket.conn.close());
  socket.on('about', (done) => done({ recovered: socket.recovered, rooms: socket.rooms.size, ...socket.data }));
});
server.listen(process.env.PORT, process.env.HOST);
