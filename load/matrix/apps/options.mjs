import { createServer } from 'node:http';
import { Server } from 'socket.io';

const server = createServer();
const io = new Server(server, {
  path: '/live',
  addTrailingSlash: false,
  pingInterval: 300,
  pingTimeout: 200,
  maxHttpBufferSize: 1000,
  cookie: { name: 'io', httpOnly: true, sameSite: 'lax' },
  cors: { origin: ['https://a.example', /\.b\.example$/], credentials: true, allowedHeaders: ['x-own'] },
  allowRequest: (request, done) => done(null, request.headers['x-refuse'] === undefined),
  httpCompression: { threshold: 100 },
});
io.engine.on('initial_headers', (headers) => {
  headers['x-initial'] = 'yes';
});
io.engine.on('connection_error', ({ code, message }) => io.emit('connection error', code, message));
io.on('connection', (socket) => {
  socket.emit('long', 'x'.repeat(500));
  socket.on('echo', (...values) => values.pop()(values));
  socket.on('disconnect', (reason) => io.emit('left', reason));
});
server.listen(process.env.PORT, process.env.HOST);
