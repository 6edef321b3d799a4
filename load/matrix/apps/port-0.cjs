const { createServer } = require('node:http');
const { Server } = require('socket.io');
const chat = require('./chat.cjs');

const server = createServer((_request, response) => response.end('served'));
chat(new Server(server));
server.listen(0, process.env.HOST, () => console.log('port:', server.address().port));
