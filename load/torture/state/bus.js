import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { own } from '../../harness/at-exit.js';
import { freePort } from '../../harness/ports.js';
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

async function startNats() {
  const port = await freePort();
  const path = `${process.env.PATH}:/usr/sbin`;
  const child = own(
    spawn('nats-server', ['--addr', '127.0.0.1', '--port', `${port}`], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, PATH: path },
    }),
  );
  await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`nats-server ended with ${code}`)));
    createInterface(child.stderr).on('line', (line) => line.includes('Server is ready') && resolve());
  });
  return {
    url: `nats://127.0.0.1:${port}`,
    stop: async () => {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}
