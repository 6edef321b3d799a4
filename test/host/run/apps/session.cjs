// express-session with a store in memory, shared with Socket.IO.
const { createServer } = require('node:http');
const express = require('express');
const session = require('express-session');
const { Server } = require('socket.io');

const app = express();
const middleware = session({ secret: 'test', resave: false, saveUninitialized: true });
app.use(middleware);
const http = createServer(app);
const io = new Server(http);
io.engine.use(middleware);
io.on('connection', (socket) => socket.emit('session', typeof socket.request.session.cookie, socket.request.sessionID));
http.listen({ port: 0, host: '127.0.0.1' });
