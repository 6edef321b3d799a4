import { fileURLToPath } from 'node:url';
import { HaProxy } from '../../test/support/haproxy.js';
import { RedisProcess } from '../../test/support/redis.js';
import { ON_LOOPBACK, program, RunningService } from '../../test/support/service.js';
import { bareEnvironment } from '../torture/support/service.js';

const app = fileURLToPath(new URL('app.mjs', import.meta.url));
const HOSTS = 3;
const WORKERS = 4;

/** Starts the application, by itself or with `args` of the program `main`. */
const start = (env, main = app, args = []) =>
  new RunningService({
    ...{ main, args },
    env: { ...bareEnvironment(), ...ON_LOOPBACK, RATE_LIMIT: 'off', ...env },
    onLine: (line, stream) => stream === 'stderr' && console.error(line),
  }).start();

const hosted = (workers, env) => start(env, program, ['run', app, '--workers', String(workers)]);

/** Hosts on one Redis, behind HAProxy without affinity: each request goes to the next host. */
async function startHosts(env) {
  const redis = await RedisProcess.start();
  const hosts = await Promise.all(
    Array.from({ length: HOSTS }, () => hosted(1, { ...env, GJALLAR_REDIS_URL: redis.url })),
  );
  // The application answers no request that is not for Socket.IO.
  const proxy = await HaProxy.start(
    hosts.map((host) => host.port),
    'option tcp-check',
  );
  const stop = async () => {
    await proxy.remove();
    await Promise.all(hosts.map((host) => host.stop()));
    await redis.remove();
  };
  return { port: proxy.port, stop };
}

/**
 * What the suites run against. `start` resolves with the port, and a function that ends everything.
 * @type {Record<string, { about: string, start: (env: object) => Promise<{ port: number, stop(): Promise<unknown> }> }>}
 */
export const servers = {
  stock: { about: 'stock socket.io, one process', start: (env) => start({ ...env, PRINT_PORT: '1' }) },
  one: { about: 'gjallar run, one worker', start: (env) => hosted(1, env) },
  workers: { about: `gjallar run, ${WORKERS} workers`, start: (env) => hosted(WORKERS, env) },
  hosts: { about: `${HOSTS} hosts behind HAProxy, one worker each`, start: startHosts },
};
