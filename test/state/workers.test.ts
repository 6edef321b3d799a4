import { redisBackplane } from '../../src/backplanes/redis/classic.js';
import { hubMachinesOn } from '../rooms/support/node.js';
import { NatsProcess } from '../support/nats.js';
import { RedisCluster, RedisProcess } from '../support/redis.js';
import { type Buses, stateOver } from './support/workers.suite.js';

const quiet = { onDown: () => {}, onUp: () => {} };

const buses: Record<string, () => Promise<Buses>> = {
  'redis-hub': async () => {
    const redis = await RedisProcess.start();
    const machines = await hubMachinesOn('redis-hub', { server: 'redis', url: redis.url, prefix: 'socket.io' });
    return { openBackplane: machines.openBackplane, remove: () => removeAll(machines, redis) };
  },
  nats: async () => {
    const nats = await NatsProcess.start();
    const machines = await hubMachinesOn('nats-hub', { server: 'nats', url: nats.url, prefix: 'socket.io' });
    return { openBackplane: machines.openBackplane, remove: () => removeAll(machines, nats) };
  },
  'a Redis Cluster': async () => {
    const cluster = await RedisCluster.start();
    const { url } = cluster;
    const machines = await hubMachinesOn('redis-hub', { server: 'redis-cluster', url, prefix: 'socket.io' });
    return { openBackplane: machines.openBackplane, remove: () => removeAll(machines, cluster) };
  },
  // Processes that only an adapter joins are machines to each other.
  redis: async () => {
    const redis = await RedisProcess.start();
    return { openBackplane: async () => redisBackplane(redis.url, quiet), remove: () => redis.remove() };
  },
};

async function removeAll(...parts: { remove(): Promise<void> }[]): Promise<void> {
  for (const part of parts) await part.remove();
}

for (const [name, open] of Object.entries(buses)) stateOver(name, open);
