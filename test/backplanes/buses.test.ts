import { ownWindow } from '../../src/backplanes/frames/links.js';
import { natsBackplane } from '../../src/backplanes/nats/pub-sub.js';
import { redisBackplane } from '../../src/backplanes/redis/classic.js';
import { redisFramesBackplane } from '../../src/backplanes/redis/frames.js';
import { machinesOn } from '../rooms/support/node.js';
import { NatsProcess } from '../support/nats.js';
import { RedisProcess } from '../support/redis.js';
import { type BusFixture, busContract } from './bus.contract.js';
import { onClassicRedis, onMachineFrames, onNatsFrames } from './support/garbage.js';

const quiet = { onDown: () => {}, onUp: () => {} };

busContract('redis-frames', async () => {
  const redis = await RedisProcess.start();
  const machines = await machinesOn((links, machine) =>
    redisFramesBackplane({ links, machine, window: ownWindow(), url: redis.url, prefix: 'socket.io', events: quiet }),
  );
  return {
    openBackplane: machines.openBackplane,
    sendGarbage: () => onMachineFrames(redis.url, ['machine0', 'machine1']),
    remove: async () => {
      await machines.remove();
      await redis.remove();
    },
  };
});

busContract('nats', async () => {
  const nats = await NatsProcess.start();
  const machines = await machinesOn((links, machine) =>
    natsBackplane({ links, machine, window: ownWindow(), url: nats.url, prefix: 'socket.io', events: quiet }),
  );
  return {
    openBackplane: machines.openBackplane,
    sendGarbage: () => onNatsFrames(nats.url, ['machine0', 'machine1']),
    remove: async () => {
      await machines.remove();
      await nats.remove();
    },
  };
});

busContract('redis', () => onRedis((url) => redisBackplane(url, quiet), onClassicRedis));

async function onRedis(
  open: (url: string) => Awaited<ReturnType<BusFixture['openBackplane']>>,
  sendGarbage: (url: string) => Promise<number>,
): Promise<BusFixture> {
  const redis = await RedisProcess.start();
  return {
    openBackplane: async () => open(redis.url),
    sendGarbage: () => sendGarbage(redis.url),
    remove: () => redis.remove(),
  };
}
