import { NatsProcess } from '../../support/nats.js';
import { RedisProcess } from '../../support/redis.js';
import { recoveryContract } from './recovery.contract.js';
import { joinNats, joinRedis } from './support/recovering.js';

for (const bus of ['redis', 'redis-frames'] as const) {
  recoveryContract(bus, 2, async () => {
    const redis = await RedisProcess.start();
    return { openBackplane: async () => joinRedis(redis.url, {}, bus), remove: () => redis.remove() };
  });
}

recoveryContract('nats', 2, async () => {
  const nats = await NatsProcess.start();
  return { openBackplane: async () => joinNats(nats.url), remove: () => nats.remove() };
});
