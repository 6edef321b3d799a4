import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NatsProcess } from '../support/nats.js';
import { RedisProcess } from '../support/redis.js';
import { recoveryContract } from './recovery.contract.js';
import { joinMesh, joinNats, joinRedis } from './support/recovering.js';

recoveryContract('embedded', 4, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gjallar-recovery-'));
  const ids: number[] = [];
  return {
    openBackplane: () => {
      const others = [...ids];
      ids.push(ids.length + 1);
      return joinMesh(directory, ids.length, others);
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
});

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
