import { fileURLToPath } from 'node:url';
import { freePort } from '../harness/ports.js';
import { own } from '../harness/process/at-exit.js';
import { startHaproxy } from '../harness/servers/proxy.js';
import { Redis } from '../harness/servers/redis.js';
import { program, startService } from '../harness/service.js';
import { bareEnvironment } from '../torture/support/service.js';

const app = fileURLToPath(new URL('app.mjs', import.meta.url));
const HOSTS = 3;

/** Starts the application, by itself or with `args` of the program `main`. */
const start = (env, main = app, args = []) =>
  startService({
    ...{ main, args },
    env: { ...bareEnvironment(), RATE_LIMIT: 'off', ...env },
    onLine: (line, stream) => stream === 'stderr' && console.error(line),
    onSpawn: own,
  });

const hosted = (workers, env) => start(env, program, ['run', app, '--workers', String(workers)]);

/** Hosts on one Redis, behind HAProxy without affinity: each request goes to the next host. */
async function startHosts({ workers, folder, ...env }) {
  const redis = await Redis.start();
  const hosts = await Promise.all(
    Array.from({ length: HOSTS }, () => hosted(workers, { ...env, REDIS_URL: redis.url })),
  );
  const port = await freePort();
  const proxy = await startHaproxy(
    folder,
    `
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  timeout tunnel 1h
  option abortonclose
frontend clients
  bind 127.0.0.1:${port}
  default_backend hosts
backend hosts
  balance roundrobin
${hosts.map((host, index) => `  server host${index} 127.0.0.1:${host.port}\n`).join('')}`,
    [port],
  );
  if (!proxy) throw new Error('haproxy is not installed');
  const stop = async () => {
    proxy.kill('SIGKILL');
    await Promise.all(hosts.map((host) => host.stop()));
    await redis.stop();
  };
  return { port, stop };
}

/**
 * What the suites run against. `start` resolves with the port, and a function that ends everything.
 *
 * @type {Record<string, { about: (workers: number) => string, start: (options: object) => Promise<{ port: number, stop(): Promise<unknown> }> }>}
 */
export const servers = {
  stock: {
    about: () => 'stock socket.io, one process',
    start: ({ SUITE }) => start({ SUITE, PRINT_PORT: '1' }),
  },
  one: { about: () => 'gjallar run, one worker', start: ({ SUITE }) => hosted(1, { SUITE }) },
  workers: {
    about: (workers) => `gjallar run, ${workers} workers`,
    start: ({ SUITE, workers }) => hosted(workers, { SUITE }),
  },
  hosts: {
    about: () => `${HOSTS} hosts behind HAProxy, one worker each`,
    start: ({ SUITE, folder }) => startHosts({ SUITE, folder, workers: 1 }),
  },
};
