// Two namespaces with middleware, of which one needs a token.
const { createServer } = require('node:http');
const { Server } = require('socket.io');

const server = createServer((_request, response) => response.writeHead(404).end('nothing here'));
const io = new Server(server, { path: '/live', connectionStateRecovery: {} });
io.use((socket, next) => {
  socket.data.middleware = true;
  next();
});
const admin = io.of('/admin');
admin.use((socket, next) => {
  if (socket.handshake.auth.token === 'right') return next();
  next(Object.assign(new Error('not allowed'), { data: { code: 401 } }));
});
for (const namespace of [io.of('/'), admin]) {
  namespace.on('connection', (socket) => {
    socket.join('all');
    socket.on('ask all', async (reply) => {
      const answers = await namespace.timeout(1000).emitWithAck('how many', socket.data.middleware ?? false);
      reply(answers.length);
    });
    socket.on('who', async (reply) => reply((await namespace.in('all').fetchSockets()).length));
  });
}
server.listen(process.env.PORT, '127.0.0.1');
