import cluster from 'node:cluster';
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const server = createServer();
const io = new Server(server, { connectionStateRecovery: { skipMiddlewares: false } });

for (const nsp of [io.of('/'), io.of('/second')]) {
  nsp.on('connection', (socket) => {
    socket.join('room');
    socket.on('say', (number) => nsp.to('room').emit('said', socket.handshake.auth.name, number));
    socket.on('ask me', () => socket.emit('question', () => {}));
    socket.on('state', (done) => done({ pid: process.pid, recovered: socket.recovered }));
  });
}
// The new release does not let everybody return, and is slow with some.
const isReloaded = cluster.worker.id > Number(process.env.WORKERS);
io.use(async ({ handshake }, next) => {
  const { name } = handshake.auth;
  if (isReloaded && name === 'stranger') return next(new Error('no'));
  if (isReloaded && name.startsWith('slow')) {
    console.log(`waits: ${name}`);
    await new Promise((resolve) => process.once('message', resolve));
  }
  next();
});

server.listen(0);
