import { redisBackplane } from '../../src/rooms/backplanes/redis/classic.js';
import { redisShardedBackplane } from '../../src/rooms/backplanes/redis/sharded.js';
import { redisStreamsBackplane } from '../../src/rooms/backplanes/redis/streams.js';
import { RedisCluster, RedisProcess } from '../support/redis.js';
import { type BusFixture, busContract } from './bus.contract.js';
import { frames, onClassicRedis, onShardedRedis, onStreams } from './support/garbage.js';
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

busContract('redis', () => onRedis((url) => redisBackplane(url, quiet), onClassicRedis));
busContract('redis-streams', () => onRedis((url) => redisStreamsBackplane(url, quiet), onStreams));
busContract('redis-sharded', async () => {
  const cluster = await RedisCluster.start();
  return {
    openBackplane: async () => redisShardedBackplane(cluster.url, quiet),
    sendGarbage: () => onShardedRedis(cluster.url),
    remove: () => cluster.remove(),
  };
});

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
