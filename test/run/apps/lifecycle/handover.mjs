import cluster from 'node:cluster';
import { createServer } from 'node:http';
import { Server } from 'socket.io';

// A number that is confirmed has reached all workers.
const server = createServer(async ({ url }, response) => {
  if (url !== '/fence') io.to('room').emit('said', 'news', Number(url.slice(1)));
  await io.serverSideEmitWithAck('fence');
  response.end();
});
const { WORKERS, PING_INTERVAL = '25000', NEXT_PING_INTERVAL = PING_INTERVAL } = process.env;
const isReloaded = cluster.worker.id > Number(WORKERS);
const io = new Server(server, {
  connectionStateRecovery: { skipMiddlewares: false },
  pingInterval: Number(isReloaded ? NEXT_PING_INTERVAL : PING_INTERVAL),
});
io.on('fence', (done) => done());

for (const nsp of [io.of('/'), io.of('/second')]) {
  nsp.on('connection', (socket) => {
    socket.join('room');
    socket.on('say', (number) => nsp.to('room').emit('said', socket.handshake.auth.name, number));
    socket.on('ask me', () => socket.emit('question', () => {}));
    socket.on('state', (done) => done({ pid: process.pid, recovered: socket.recovered }));
    if (socket.recovered) console.log(`recovered by ${process.pid}`);
  });
  // The new release does not let everybody return. Each release is slow with some.
  nsp.use(async ({ handshake }, next) => {
    const { name } = handshake.auth;
    if (isReloaded && name === 'stranger') return next(new Error('no'));
    if (name.startsWith(isReloaded ? 'slow' : 'late')) {
      console.log(`waits: ${name} for ${process.pid}`);
      await new Promise((resolve) => process.once('message', resolve));
    }
    next();
  });
}

server.listen(0);
