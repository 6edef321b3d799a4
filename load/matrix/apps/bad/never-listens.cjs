const { createServer } = require('node:http');
const { Server } = require('socket.io');

const io = new Server(createServer());
process.on('exit', () => console.log('clients:', io.engine.clientsCount, 'listening:', io.httpServer.listening));
