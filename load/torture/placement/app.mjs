// Clients join the room that they name as they connect; a number that it is sent for a room goes to its members.
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const http = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  const room = searchParams.get('room');
  if (pathname === '/say') io.to(room).emit('number', Number(searchParams.get('number')));
  response.end(String(process.pid));
});
const io = new Server(http, { connectionStateRecovery: {}, pingInterval: 5000, pingTimeout: 5000 });
io.on('connection', (socket) => {
  socket.join(socket.handshake.query.room);
  socket.emit('home', process.pid);
});
http.listen(0, '127.0.0.1');
