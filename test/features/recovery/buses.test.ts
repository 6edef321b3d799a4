import { RedisProcess } from '../../support/redis.js';
import { recoveryContract } from './recovery.contract.js';
import { joinRedis } from './support/recovering.js';

for (const bus of ['redis', 'redis-frames'] as const) {
  recoveryContract(bus, 2, async () => {
    const redis = await RedisProcess.start();
    return { openBackplane: async () => joinRedis(redis.url, {}, bus), remove: () => redis.remove() };
  });
}
