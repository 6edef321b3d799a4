// Clients join the room that they name as they connect; a number that it is sent for a room goes to its members.
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const http = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  const room = searchParams.get('room');
  if (pathname !== '/say') return response.end(String(process.pid));
  io.to(room).emit('number', Number(searchParams.get('number')));
  // A worker that is killed meanwhile has not confirmed what may not have left it.
  setTimeout(() => response.end(String(process.pid)), 100);
});
const io = new Server(http, { connectionStateRecovery: {}, pingInterval: 5000, pingTimeout: 5000 });
io.on('connection', (socket) => {
  socket.join(socket.handshake.query.room);
  socket.emit('home', process.pid);
});
http.listen(0, '127.0.0.1');
