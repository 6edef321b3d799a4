const { createServer } = require('node:http');
const { Server } = require('socket.io');

const server = createServer();
const io = new Server(server);
server.on('close', () => console.log('closed'));
io.on('connection', (socket) => {
  socket.on('close', () => io.close(() => console.log('listening:', server.listening)));
});
server.listen(process.env.PORT, process.env.HOST);
