// gjallar's engine and rooms in an application of many workers, joined by socket.io's Redis adapter.

import { createAdapter as createRedisAdapter } from '@socket.io/redis-adapter';
import { Redis } from 'ioredis';
import { Server } from 'socket.io';
import { App, createAdapter, Engine, parser } from '../../../dist/index.js';
import { runApplication } from '../small/application.js';
import { pingInterval, runCluster } from './cluster.js';

await runCluster((host, port, listening) => {
  const app = App();
  const engine = new Engine({ pingInterval }).attach(app, { path: '/socket.io/' });
  const redis = new Redis(process.env.REDIS_URL);
  const adapter = createAdapter(engine, createRedisAdapter(redis, redis.duplicate()));
  runApplication(new Server({ adapter, parser }).bind(engine));
  // uWebSockets.js shares the port with the other workers' by SO_REUSEPORT.
  app.listen(host, port, listening);
});
