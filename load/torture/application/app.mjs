// An application that knows nothing of gjallar: a room that all clients are in, on stock Socket.IO.
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const http = createServer((_request, response) => response.end('fine'));
const io = new Server(http);
io.on('connection', (socket) => {
  socket.join('all');
  socket.on('say', (number, done) => {
    io.to('all').emit('said', socket.id, number);
    done?.();
  });
  socket.on('pid', (done) => done(process.pid));
});
http.listen(0, '127.0.0.1');
