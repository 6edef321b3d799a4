// An application with connection state recovery, in which clients name rooms. It is what attacks on recovery run against.
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const http = createServer((_request, response) => response.end('fine'));
const io = new Server(http, { connectionStateRecovery: {} });

/** Emits in parts, as clients that keep to a rate would. */
async function fill(rooms, times) {
  for (let count = 0; count < times; count++) {
    io.to(rooms[count % rooms.length]).emit('m', count);
    if (count % 500 === 499) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

io.on('connection', (socket) => {
  socket.on('join', (rooms, done) => {
    socket.join(rooms);
    done?.();
  });
  socket.on('leave', (rooms) => {
    for (const room of rooms) socket.leave(room);
  });
  socket.on('echo', (value, done) => done?.(value));
  socket.on('message', ({ room, text }, done) => {
    io.to(room).emit('message', text);
    done?.({ ok: true });
  });
  socket.on('fill', async (rooms, times, done) => {
    await fill(rooms, times);
    done();
  });
  if (!socket.recovered) socket.emit('hello');
});
http.listen(Number(process.env.PORT), '127.0.0.1');
