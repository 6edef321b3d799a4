// The custom server of Next.js's documentation, with Socket.IO on its port.

const { createServer } = require('node:http');
const next = require('next');
const { Server } = require('socket.io');
const chat = require('./chat.cjs');

const { PORT: port, HOST: hostname } = process.env;
const app = next({ dev: process.env.NODE_ENV !== 'production', dir: __dirname, hostname, port: Number(port) });
app.prepare().then(() => {
  const server = createServer(app.getRequestHandler());
  chat(new Server(server));
  server.listen(port, hostname);
});
