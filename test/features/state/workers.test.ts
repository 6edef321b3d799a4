import { redisBackplane } from '../../../src/cluster/backplanes/redis/classic.js';
import { machinesOn } from '../../io/rooms/support/node.js';
import { RedisCluster, RedisProcess } from '../../support/redis.js';
import { type Buses, stateOver } from './support/workers.suite.js';

const buses: Record<string, () => Promise<Buses>> = {
  'redis-frames': async () => {
    const redis = await RedisProcess.start();
    const machines = await machinesOn('redis-frames', { server: 'redis', url: redis.url, prefix: 'socket.io' });
    return { openBackplane: machines.openBackplane, remove: () => removeAll(machines, redis) };
  },
  redis: async () => {
    const redis = await RedisProcess.start();
    return { openBackplane: async () => redisBackplane(redis.url), remove: () => redis.remove() };
  },
  'a Redis Cluster': async () => {
    const cluster = await RedisCluster.start();
    const { url } = cluster;
    const machines = await machinesOn('redis-frames', { server: 'redis', url, prefix: 'socket.io' });
    return { openBackplane: machines.openBackplane, remove: () => removeAll(machines, cluster) };
  },
};

async function removeAll(...parts: { remove(): Promise<void> }[]): Promise<void> {
  for (const part of parts) await part.remove();
}

for (const [name, open] of Object.entries(buses)) stateOver(name, open);
