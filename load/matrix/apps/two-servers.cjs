const { createServer } = require('node:http');
const { Server } = require('socket.io');
const chat = require('./chat.cjs');

const server = createServer((_request, response) => response.end('beside both'));
chat(new Server(server));
chat(new Server(server, { path: '/second/', serveClient: false, transports: ['websocket'] }), '/of-the-second');
server.listen(process.env.PORT, process.env.HOST);
