const { createServer } = require('node:http');
const express = require('express');
const helmet = require('helmet');
const { Server } = require('socket.io');
const chat = require('./chat.cjs');

const app = express();
app.use(helmet());
app.get('/about', (_request, response) => response.send('safe'));
const server = createServer(app);
const io = new Server(server);
io.engine.use(helmet());
chat(io);
server.listen(process.env.PORT, process.env.HOST);
