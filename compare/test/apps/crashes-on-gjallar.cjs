const { createServer } = require('node:http');
const { Server } = require('socket.io');

if (process.execArgv.some((argument) => argument.includes('register'))) throw new Error('not here');
const server = createServer();
new Server(server);
server.listen(process.env.PORT, '127.0.0.1');
