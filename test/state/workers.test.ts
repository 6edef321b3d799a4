import { ownWindow } from '../../src/backplanes/frames/links.js';
import { natsBackplane } from '../../src/backplanes/nats/pub-sub.js';
import { redisBackplane } from '../../src/backplanes/redis/classic.js';
import { redisFramesBackplane, shardedFramesBackplane } from '../../src/backplanes/redis/frames.js';
import { machinesOn } from '../rooms/support/node.js';
import { NatsProcess } from '../support/nats.js';
import { RedisCluster, RedisProcess } from '../support/redis.js';
import { type Buses, stateOver } from './support/workers.suite.js';

const quiet = { onDown: () => {}, onUp: () => {} };

const buses: Record<string, () => Promise<Buses>> = {
  'redis-frames': async () => {
    const redis = await RedisProcess.start();
    const machines = await machinesOn((links, machine) =>
      redisFramesBackplane({ links, machine, window: ownWindow(), url: redis.url, prefix: 'socket.io', events: quiet }),
    );
    return { openBackplane: machines.openBackplane, remove: () => removeAll(machines, redis) };
  },
  nats: async () => {
    const nats = await NatsProcess.start();
    const machines = await machinesOn((links, machine) =>
      natsBackplane({ links, machine, window: ownWindow(), url: nats.url, prefix: 'socket.io', events: quiet }),
    );
    return { openBackplane: machines.openBackplane, remove: () => removeAll(machines, nats) };
  },
  redis: async () => {
    const redis = await RedisProcess.start();
    return { openBackplane: async () => redisBackplane(redis.url, quiet), remove: () => redis.remove() };
  },
  'a Redis Cluster': async () => {
    const cluster = await RedisCluster.start();
    const { url } = cluster;
    const machines = await machinesOn((links, machine) =>
      shardedFramesBackplane({ links, machine, window: ownWindow(), url, prefix: 'socket.io', events: quiet }),
    );
    return { openBackplane: machines.openBackplane, remove: () => removeAll(machines, cluster) };
  },
};

async function removeAll(...parts: { remove(): Promise<void> }[]): Promise<void> {
  for (const part of parts) await part.remove();
}

for (const [name, open] of Object.entries(buses)) stateOver(name, open);
