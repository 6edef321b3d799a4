const { createServer } = require('node:http');
const express = require('express');
const session = require('express-session');
const { Server } = require('socket.io');

const sessions = session({ secret: 'not secret', resave: false, saveUninitialized: true });
const app = express();
app.use(sessions);
app.get('/count', (request, response) => {
  request.session.count = (request.session.count ?? 0) + 1;
  response.json({ count: request.session.count });
});
const server = createServer(app);
const io = new Server(server);
io.engine.use(sessions);
io.on('connection', (socket) => {
  const { request } = socket;
  socket.on('count', (done) => {
    request.session.reload(() => {
      request.session.count++;
      request.session.save(() => done(request.session.count));
    });
  });
});
server.listen(process.env.PORT, process.env.HOST);
