const { instrument } = require('@socket.io/admin-ui');
const { createServer } = require('node:http');
const { Server } = require('socket.io');
const chat = require('../chat.cjs');

const server = createServer();
const io = new Server(server);
instrument(io, { auth: false, mode: 'development', serverId: 'matrix' });
chat(io);
server.listen(process.env.PORT, process.env.HOST);
