const { createServer } = require('node:http');
const serveStatic = require('serve-static');
const { Server } = require('socket.io');
const chat = require('./chat.cjs');

const files = serveStatic(__dirname);
const server = createServer((request, response) => {
  files(request, response, () => response.writeHead(404, { 'Content-Type': 'text/plain' }).end('not found'));
});
chat(new Server(server));
server.listen(process.env.PORT, process.env.HOST);
