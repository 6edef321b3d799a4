const { createServer } = require('node:http');
const { Server } = require('socket.io');
const { instrument } = require('@socket.io/admin-ui');
const chat = require('./chat.cjs');

const server = createServer();
const io = new Server(server, { cors: { origin: ['https://admin.socket.io'], credentials: true } });
instrument(io, { auth: false, mode: 'development' });
chat(io);
server.listen(process.env.PORT, process.env.HOST);
