// An application with a WebSocket server of its own beside Socket.IO. Its messages are short.
import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { WebSocketServer } from 'ws';

const http = createServer((_request, response) => response.end('fine'));
const io = new Server(http);
const own = wsServer({ maxPayload: 65_536 });

/** On a port of node:http, as with stock Socket.IO, a server of `ws` with a path rejects the upgrades to all other paths. */
function wsServer(options) {
  if (process.env.GJALLAR_SOCKETS !== 'portable')
    return new WebSocketServer({ server: http, path: '/own', ...options });
  const server = new WebSocketServer({ noServer: true, ...options });
  http.on('upgrade', (request, socket, head) => {
    if (!request.url.startsWith('/own')) return;
    server.handleUpgrade(request, socket, head, (webSocket) => server.emit('connection', webSocket, request));
  });
  return server;
}

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
