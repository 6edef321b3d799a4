// An application that knows nothing of gjallar: each number that it is sent goes to all clients, on stock Socket.IO.
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const http = createServer((request, response) => {
  const number = Number(new URL(request.url, 'http://localhost').searchParams.get('number'));
  io.emit('number', number);
  response.end(String(number));
});
const io = new Server(http, { ...(process.env.RECOVERY === 'on' && { connectionStateRecovery: {} }) });
io.on('connection', () => {});
http.listen(0, '127.0.0.1');
