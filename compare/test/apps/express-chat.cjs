// A chat with Express and Socket.IO, as tutorials have it.
const { createServer } = require('node:http');
const express = require('express');
const { Server } = require('socket.io');

const app = express();
app.get('/', (_request, response) => response.send('<h1>chat</h1>'));
app.get('/api', (request, response) => response.cookie('seen', 'yes').json({ query: request.query }));
const server = createServer(app);
const io = new Server(server);
io.on('connection', (socket) => {
  socket.emit('welcome', { id: socket.id, random: Math.random(), at: Date.now(), list: [1, 'two', null] });
  socket.broadcast.emit('joined', socket.id);
  socket.on('say', (text) => io.emit('said', { from: socket.id, text }));
  socket.on('echo', (...args) => args.pop()(...args));
  socket.on('bytes', (reply) => reply(Buffer.from('abc')));
  socket.on('leave', () => socket.disconnect());
});
server.listen(process.env.PORT ?? 3000, '127.0.0.1');
