// Stock socket.io in an application of many workers, joined by its Redis adapter.

import { createServer } from 'node:http';
import { createAdapter } from '@socket.io/redis-adapter';
import { Redis } from 'ioredis';
import { Server } from 'socket.io';
import { runApplication } from '../small/application.js';
import { pingInterval, runCluster } from './cluster.js';

await runCluster((host, port, listening) => {
  const server = createServer();
  const redis = new Redis(process.env.REDIS_URL);
  runApplication(new Server(server, { pingInterval, adapter: createAdapter(redis, redis.duplicate()) }));
  server.listen({ host, port, backlog: 4096 }, listening);
});
