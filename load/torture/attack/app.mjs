// An application with connection state recovery, in which clients name rooms, and with a WebSocket server of its own, whose
// messages are short. Attacks run against it where the chat service has neither.
import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { WebSocketServer } from 'ws';

const http = createServer((_request, response) => response.end('fine'));
const io = new Server(http, { connectionStateRecovery: {} });
// A server of `ws` with `server` and `path` rejects the upgrades to all other paths, those of Socket.IO too.
const own = new WebSocketServer({ noServer: true, maxPayload: 65_536 });

http.on('upgrade', (request, socket, head) => {
  if (!request.url.startsWith('/own')) return;
  own.handleUpgrade(request, socket, head, (webSocket) => own.emit('connection', webSocket, request));
});
own.on('connection', (socket) => socket.on('error', () => {}));

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
