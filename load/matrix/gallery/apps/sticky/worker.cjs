// What is left of server.cjs for gjallar run, as docs/move.md says.

const { createServer } = require('node:http');
const { Server } = require('socket.io');

const server = createServer();
require('./chat.cjs')(new Server(server));
server.listen(process.env.PORT, process.env.HOST);
