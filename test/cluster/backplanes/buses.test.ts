import { redisBackplane } from '../../../src/cluster/backplanes/redis/classic.js';
import { machinesOn } from '../../io/rooms/support/node.js';
import { RedisProcess } from '../../support/redis.js';
import { busContract } from './bus.contract.js';
import { onClassicRedis, onHubs } from './support/garbage.js';

busContract('redis-frames', async () => {
  const redis = await RedisProcess.start();
  const machines = await machinesOn('redis-frames', { server: 'redis', url: redis.url, prefix: 'socket.io' });
  return {
    openBackplane: machines.openBackplane,
    sendGarbage: () => onHubs(redis.url),
    remove: async () => {
      await machines.remove();
      await redis.remove();
    },
  };
});

busContract('redis', async () => {
  const redis = await RedisProcess.start();
  return {
    openBackplane: async () => redisBackplane(redis.url),
    sendGarbage: () => onClassicRedis(redis.url),
    remove: () => redis.remove(),
  };
});
