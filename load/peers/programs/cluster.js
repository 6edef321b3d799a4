// An application of many workers on one port, joined by socket.io's Redis adapter or its cluster adapter: on stock socket.io, or on
// gjallar's engine and rooms. Each worker says when it listens; then the primary tells the port. SIGHUP replaces the workers, each
// by one that listens before.

import cluster from 'node:cluster';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createAdapter as createClusterAdapter, setupPrimary } from '@socket.io/cluster-adapter';
import { createAdapter as createRedisAdapter } from '@socket.io/redis-adapter';
import { Redis } from 'ioredis';
import { Server } from 'socket.io';
import { freePort } from '../../../test/support/ports.js';
import { applications } from '../applications.js';

const { HOST, PORT, REDIS_URL, SETTINGS } = process.env;
const { server, adapter: joinedBy, workers, pingInterval, application = 'small' } = JSON.parse(SETTINGS);

if (cluster.isPrimary) await start();
else await serve(Number(PORT), () => process.send('listening'));

async function start() {
  const port = await freePort();
  let listening = 0;
  cluster.on('message', (_worker, message) => {
    if (message === 'listening' && ++listening === workers)
      console.log(`the cluster listens on http://${HOST}:${port}`);
  });
  if (joinedBy === 'cluster') setupPrimary();
  cluster.on('exit', (worker, code, signal) => {
    if (worker.isReplaced) return;
    console.error(`worker ${worker.id} ended: ${signal ?? `exit code ${code}`}`);
    process.exit(1);
  });
  for (let i = 0; i < workers; i++) cluster.fork({ PORT: port });
  process.on('SIGHUP', async () => {
    for (const old of Object.values(cluster.workers)) {
      await once(cluster.fork({ PORT: port }), 'listening');
      old.isReplaced = true;
      old.process.kill();
    }
    console.log('{"level":"info","msg":"reload finished"}');
  });
}

function adapterOf() {
  if (joinedBy === 'cluster') return createClusterAdapter();
  const redis = new Redis(REDIS_URL);
  return createRedisAdapter(redis, redis.duplicate());
}

async function serve(port, listening) {
  const adapter = adapterOf();
  if (server === 'socketio') {
    const http = createServer();
    applications[application].run(new Server(http, { pingInterval, adapter }));
    http.listen({ host: HOST, port, backlog: 4096 }, listening);
    return;
  }
  const { App, createAdapter, Engine, parser } = await import('../../../dist/index.js');
  const app = App();
  const engine = new Engine({ pingInterval }).attach(app, { path: '/socket.io/' });
  applications[application].run(new Server({ adapter: createAdapter(engine, adapter), parser }).bind(engine));
  // uWebSockets.js shares the port with the other workers' by SO_REUSEPORT.
  app.listen(HOST, port, listening);
}
