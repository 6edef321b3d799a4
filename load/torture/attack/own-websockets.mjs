// An application with a WebSocket server of its own beside Socket.IO. Its messages are short.
import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { WebSocketServer } from 'ws';

const http = createServer((_request, response) => response.end('fine'));
const io = new Server(http);
// A server of `ws` with `server` and `path` rejects the upgrades to all other paths, those of Socket.IO too.
const own = new WebSocketServer({ noServer: true, maxPayload: 65_536 });

http.on('upgrade', (request, socket, head) => {
  if (!request.url.startsWith('/own')) return;
  own.handleUpgrade(request, socket, head, (webSocket) => own.emit('connection', webSocket, request));
});
own.on('connection', (socket) => socket.on('error', () => {}));
io.on('connection', (socket) => {
  socket.on('join', (room) => socket.join(room));
  socket.on('echo', (value, done) => done?.(value));
  socket.on('message', ({ room, text }, done) => {
    io.to(room).emit('message', text);
    done?.({ ok: true });
  });
});
http.listen(Number(process.env.PORT), '127.0.0.1');
