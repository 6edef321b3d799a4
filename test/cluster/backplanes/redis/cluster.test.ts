import { afterAll, beforeAll } from '@jest/globals';
import { machinesOn } from '../../../io/rooms/support/node.js';
import { RedisCluster } from '../../../support/redis.js';
import { busContract } from '../bus.contract.js';
import { onHubs } from '../support/garbage.js';

/** Frames on the pub/sub of a Redis Cluster: hubs use different nodes of it. */

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await RedisCluster.start();
});
afterAll(() => cluster.remove());

busContract('redis-frames', async () => {
  const address = { server: 'redis', url: cluster.url, prefix: 'socket.io' } as const;
  return { ...(await machinesOn('redis-frames', address)), sendGarbage: () => onHubs(cluster.processes[0]!.url) };
});
