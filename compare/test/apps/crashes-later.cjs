const { createServer } = require('node:http');
const { Server } = require('socket.io');

const isGjallar = process.execArgv.some((argument) => argument.includes('register'));
const server = createServer();
new Server(server).on('connection', (socket) => {
  socket.on('crash', () => {
    if (isGjallar) throw new Error('too much');
  });
  socket.on('crash everywhere', () => process.exit(3));
});
server.listen(process.env.PORT, '127.0.0.1');
