import { afterAll } from '@jest/globals';
import type { Backplane } from '../../src/rooms/backplanes/backplane.js';
import { ownWindow } from '../../src/rooms/backplanes/frames/window.js';
import { natsBackplane } from '../../src/rooms/backplanes/nats/nats.js';
import { redisBackplane } from '../../src/rooms/backplanes/redis/classic.js';
import { redisShardedBackplane } from '../../src/rooms/backplanes/redis/sharded.js';
import { redisStreamsBackplane } from '../../src/rooms/backplanes/redis/streams.js';
import { redisFramesBackplane, shardedFramesBackplane } from '../../src/rooms/backplanes/redis-frames/redis-frames.js';
import type { WorkerLinks } from '../../src/worker-links.js';
import { NatsProcess } from '../support/nats.js';
import { RedisCluster, RedisProcess } from '../support/redis.js';
import { type BusFixture, busContract } from './bus.contract.js';
import {
  frames,
  onClassicRedis,
  onMachineFrames,
  onNatsFrames,
  onShardedMachineFrames,
  onShardedRedis,
  onStreams,
} from './support/garbage.js';
import { Machine } from './support/node.js';

const quiet = { onDown: () => {}, onUp: () => {} };

busContract(
  'embedded',
  async () => {
    const machine = await Machine.start();
    return {
      openBackplane: () => machine.openBackplane(),
      sendGarbage: async () => {
        await machine.send(frames);
        return frames.length;
      },
      remove: () => machine.remove(),
    };
  },
  { answersForTheDead: true },
);

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
busContract('redis-streams', () => onRedis((url) => redisStreamsBackplane(url, quiet), onStreams));

/** The cluster that the sharded buses run on, one after the other. */
let started: Promise<RedisCluster> | undefined;
const startCluster = () => {
  started ??= RedisCluster.start();
  return started;
};
afterAll(async () => (await started)?.remove());

busContract('redis-sharded', async () => {
  const { url } = await startCluster();
  return {
    openBackplane: async () => redisShardedBackplane(url, quiet),
    sendGarbage: () => onShardedRedis(url),
    remove: async () => {},
  };
});

busContract('redis-frames-sharded', async () => {
  const { url } = await startCluster();
  const machines = await machinesOn((links, machine) =>
    shardedFramesBackplane({ links, machine, window: ownWindow(), url, prefix: 'socket.io', events: quiet }),
  );
  return { ...machines, sendGarbage: () => onShardedMachineFrames(url, ['machine0', 'machine1']) };
});

/** Workers on two machines, in turn. */
async function machinesOn(
  open: (links: WorkerLinks, machine: string) => Backplane,
): Promise<Pick<BusFixture, 'openBackplane' | 'remove'>> {
  const machines = [await Machine.start(), await Machine.start()] as const;
  let opened = 0;
  return {
    openBackplane: () => {
      const index = opened++ % 2;
      return machines[index]!.openBackplane((links) => open(links, index === 0 ? 'machine0' : 'machine1'));
    },
    remove: async () => {
      for (const machine of machines) await machine.remove();
    },
  };
}

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
