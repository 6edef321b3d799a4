import { RedisProcess } from '../../support/redis.js';
import { recoveryContract } from './recovery.contract.js';
import { joinRedis } from './support/recovering.js';

recoveryContract('redis-frames', 2, async () => {
  const redis = await RedisProcess.start();
  return { openBackplane: async () => joinRedis(redis.url, {}, 'redis-frames'), remove: () => redis.remove() };
});
