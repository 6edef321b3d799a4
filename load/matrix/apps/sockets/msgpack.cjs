const { Server } = require('socket.io');
const parser = require('socket.io-msgpack-parser');
const { createServer } = require('node:http');
const chat = require('../chat.cjs');

const server = createServer();
chat(new Server(server, { parser }));
server.listen(process.env.PORT, process.env.HOST);
