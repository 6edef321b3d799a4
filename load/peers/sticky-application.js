// The same application as Socket.IO's documentation runs it on several cores: sticky sessions and the cluster adapter.

import cluster from 'node:cluster';
import { createServer } from 'node:http';
import { createAdapter, setupPrimary } from '@socket.io/cluster-adapter';
import { setupMaster, setupWorker } from '@socket.io/sticky';
import { Server } from 'socket.io';

const { HOST, WORKERS } = process.env;

if (cluster.isPrimary) {
  const http = createServer();
  setupMaster(http, { loadBalancingMethod: 'least-connection' });
  setupPrimary();
  cluster.setupPrimary({ serialization: 'advanced' });
  let ready = 0;
  cluster.on('message', (_worker, message) => {
    if (message !== 'serving' || ++ready < Number(WORKERS)) return;
    http.listen(0, HOST, () => console.log(`the application listens on http://${HOST}:${http.address().port}`));
  });
  for (let i = 0; i < Number(WORKERS); i++) cluster.fork();
} else {
  const io = new Server(createServer(), { serveClient: false, adapter: createAdapter() });
  setupWorker(io);
  process.send('serving');
}
