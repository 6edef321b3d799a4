// As the README of @socket.io/sticky has it.

const cluster = require('node:cluster');
const { createServer } = require('node:http');
const { setupPrimary } = require('@socket.io/cluster-adapter');
const { setupMaster } = require('@socket.io/sticky');

if (cluster.isPrimary) {
  const server = createServer();
  setupMaster(server, { loadBalancingMethod: 'round-robin' });
  setupPrimary();
  cluster.setupPrimary({ serialization: 'advanced' });
  let online = 0;
  cluster.on('message', (_, message) => {
    if (message === 'up' && ++online === 2) server.listen(process.env.PORT, process.env.HOST);
  });
  for (let i = 0; i < 2; i++) cluster.fork();
} else {
  const { Server } = require('socket.io');
  const { createAdapter } = require('@socket.io/cluster-adapter');
  const { setupWorker } = require('@socket.io/sticky');
  const io = new Server(createServer());
  io.adapter(createAdapter());
  setupWorker(io);
  require('./chat.cjs')(io);
  process.send('up');
}
