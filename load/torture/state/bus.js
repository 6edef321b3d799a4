import { NatsProcess } from '../../../test/support/nats.js';
import { hasRedis, RedisProcess } from '../../../test/support/redis.js';

/** What starts the server of each backplane, by the value of the option BUS. */
const servers = {
  embedded: async () => undefined,
  'redis-frames': () => RedisProcess.start(),
  redis: () => RedisProcess.start(),
  nats: () => NatsProcess.start(),
};

export const buses = Object.keys(servers);

/** What joins the workers: two machines over Redis or NATS, or one machine without either. */
export async function startBus(name = hasRedis() ? 'redis-frames' : 'embedded') {
  const server = await servers[name]();
  return { name, url: server?.url, stop: async () => server?.remove() };
}
