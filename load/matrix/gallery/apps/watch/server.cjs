const { createServer } = require('node:http');
const { Server } = require('socket.io');
const chat = require('./chat.cjs');
const { text } = require('./text.cjs');

const server = createServer((_, response) => response.end(text));
chat(new Server(server));
server.listen(process.env.PORT, process.env.HOST);
