import { redisBus } from '../../src/rooms/backplanes/redis/classic.js';
import { redisShardedBus } from '../../src/rooms/backplanes/redis/sharded.js';
import { redisStreamsBus } from '../../src/rooms/backplanes/redis/streams.js';
import { RedisCluster, RedisProcess } from '../support/redis.js';
import { type BusFixture, busContract } from './bus.contract.js';
import { Machine } from './support/node.js';

const quiet = { onDown: () => {}, onUp: () => {} };

busContract('embedded', () => Machine.start(), { answersForTheDead: true });

busContract('redis', () => onRedis((url) => redisBus(url, quiet)));
busContract('redis-streams', () => onRedis((url) => redisStreamsBus(url, quiet)));
busContract('redis-sharded', async () => {
  const cluster = await RedisCluster.start();
  return { openBus: async () => redisShardedBus(cluster.url, quiet), remove: () => cluster.remove() };
});

async function onRedis(open: (url: string) => Awaited<ReturnType<BusFixture['openBus']>>): Promise<BusFixture> {
  const redis = await RedisProcess.start();
  return { openBus: async () => open(redis.url), remove: () => redis.remove() };
}
