import { test } from '@jest/globals';
import { RedisCluster } from '../support/redis.js';
import { redisShardedBus } from '../../src/rooms/bus/redis-sharded.js';
test('x', async () => {
  const t=Date.now();
  const c = await RedisCluster.start();
  console.log('cluster', Date.now()-t);
  const bus = redisShardedBus(c.url, { onDown: (r) => console.log('down', r), onUp: () => console.log('up') });
  const tm = setInterval(() => console.log(bus.traffic), 1000);
  await Promise.race([bus.ready(), new Promise((r) => setTimeout(r, 5000))]);
  clearInterval(tm);
  bus.close(); await c.remove();
});
