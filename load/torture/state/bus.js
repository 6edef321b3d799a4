import { startNats } from '../../harness/servers/nats.js';
import { hasRedis, Redis } from '../../harness/servers/redis.js';
import { startRedisCluster } from '../../harness/servers/redis-cluster.js';

const noServer = async () => ({ url: undefined, stop: async () => {} });

async function startRedis() {
  const redis = await Redis.start();
  return { url: redis.url, stop: () => redis.stop() };
}

/** What starts the server of each backplane, by the value of the option BUS. */
const servers = {
  embedded: noServer,
  'redis-frames': startRedis,
  'redis-frames-sharded': startRedisCluster,
  redis: startRedis,
  nats: startNats,
};

export const buses = Object.keys(servers);

/** What joins the workers: two machines over Redis or NATS, or one machine without either. */
export async function startBus(name = hasRedis() ? 'redis-frames' : 'embedded') {
  return { name, ...(await servers[name]()) };
}
