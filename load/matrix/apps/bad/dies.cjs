const { Server } = require('socket.io');
const { createServer } = require('node:http');

const server = createServer();
new Server(server).on('connection', (socket) => {
  socket.on('die', () => {
    throw new Error('the application dies');
  });
});
server.listen(process.env.PORT, process.env.HOST);
