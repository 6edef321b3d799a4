const { createServer } = require('node:http');
const { Server } = require('socket.io');
const { YSocketIO } = require('y-socket.io/dist/server');
const chat = require('./chat.cjs');

const server = createServer((_, response) => response.end('beside'));
const io = new Server(server);
new YSocketIO(io, { authenticate: (handshake) => handshake.auth.token !== 'wrong' }).initialize();
chat(io);
server.listen(process.env.PORT, process.env.HOST);
