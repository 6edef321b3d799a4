const { createServer } = require('node:http');
const { Server } = require('socket.io');
const chat = require('./chat.cjs');

const server = createServer((_request, response) => response.end('served'));
server.listen(process.env.PORT, process.env.HOST, () => chat(new Server(server)));
