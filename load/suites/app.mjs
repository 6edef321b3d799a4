// The application that both protocol suites of socket.io describe, on stock Socket.IO. It knows nothing of gjallar.
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const isEngineOnly = process.env.SUITE === 'engine';
const http = createServer();
const io = new Server(http, {
  path: isEngineOnly ? '/engine.io/' : '/socket.io/',
  pingInterval: 300,
  pingTimeout: 200,
  connectTimeout: 1000,
  maxHttpBufferSize: 1_000_000,
  serveClient: false,
});

if (isEngineOnly) {
  // An echo server of Engine.IO alone: Socket.IO would end sessions without a CONNECT packet.
  io.engine.removeAllListeners('connection');
  io.engine.on('connection', (session) => session.on('data', (data) => session.send(data)));
} else {
  io.on('connection', (socket) => {
    socket.emit('auth', socket.handshake.auth);
    socket.on('message', (...values) => socket.emit('message-back', ...values));
    socket.on('message-with-ack', (...values) => values.pop()(...values));
  });
  io.of('/custom').on('connection', (socket) => socket.emit('auth', socket.handshake.auth));
}
http.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  // `gjallar run` prints a line of its own.
  if (process.env.PRINT_PORT) console.log(`socket.io listens on http://127.0.0.1:${http.address().port}`);
});
