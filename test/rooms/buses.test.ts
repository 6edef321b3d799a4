import { redisBackplane } from '../../src/rooms/backplanes/redis/classic.js';
import { redisShardedBackplane } from '../../src/rooms/backplanes/redis/sharded.js';
import { redisStreamsBackplane } from '../../src/rooms/backplanes/redis/streams.js';
import { RedisCluster, RedisProcess } from '../support/redis.js';
import { type BusFixture, busContract } from './bus.contract.js';
import { Machine } from './support/node.js';

const quiet = { onDown: () => {}, onUp: () => {} };

busContract('embedded', () => Machine.start(), { answersForTheDead: true });

busContract('redis', () => onRedis((url) => redisBackplane(url, quiet)));
busContract('redis-streams', () => onRedis((url) => redisStreamsBackplane(url, quiet)));
busContract('redis-sharded', async () => {
  const cluster = await RedisCluster.start();
  return { openBackplane: async () => redisShardedBackplane(cluster.url, quiet), remove: () => cluster.remove() };
});

async function onRedis(open: (url: string) => Awaited<ReturnType<BusFixture['openBackplane']>>): Promise<BusFixture> {
  const redis = await RedisProcess.start();
  return { openBackplane: async () => open(redis.url), remove: () => redis.remove() };
}
