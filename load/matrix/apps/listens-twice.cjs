const { createServer } = require('node:http');
const { Server } = require('socket.io');
const chat = require('./chat.cjs');

const server = createServer((_request, response) => response.end('served'));
chat(new Server(server));
server.listen(process.env.PORT, process.env.HOST, () => {
  try {
    server.listen(process.env.PORT, process.env.HOST);
  } catch (error) {
    console.log('second:', error.code);
  }
});
