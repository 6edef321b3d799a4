// Vite's dev server in middleware mode, with its WebSocket for hot updates and Socket.IO on one port.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { Server } from 'socket.io';
import { createServer as createVite } from 'vite';
import { WebSocket } from 'ws';

const chat = createRequire(import.meta.url)('./chat.cjs');
const server = createServer((request, response) => vite.middlewares(request, response));
const vite = await createVite({
  server: { middlewareMode: true, hmr: { server }, allowedHosts: true },
  logLevel: 'error',
});
const io = new Server(server);
chat(io);
io.on('connection', (socket) => {
  // What a page gets on Vite's WebSocket: that it is connected, and an update.
  socket.on('hot', (done) => {
    const url = `ws://${socket.handshake.headers.host}/?token=${vite.config.webSocketToken}`;
    const got = [];
    const page = new WebSocket(url, 'vite-hmr');
    page.on('message', (data) => {
      const { type, event } = JSON.parse(data);
      got.push([type, event]);
      if (type === 'connected') vite.ws.send('hello', { text: 'ö' });
      else page.close();
    });
    page.on('close', (code) => done(got, code));
  });
});
server.listen(Number(process.env.PORT), process.env.HOST);
