import { fileURLToPath } from 'node:url';
import { freePort } from '../harness/ports.js';
import { own } from '../harness/process/at-exit.js';
import { startHaproxy } from '../harness/servers/proxy.js';
import { Redis } from '../harness/servers/redis.js';
import { program, startService } from '../harness/service.js';
import { bareEnvironment } from '../torture/support/service.js';

const app = fileURLToPath(new URL('app.mjs', import.meta.url));
const HOSTS = 3;
const WORKERS = 4;

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
async function startHosts(env, folder) {
  const redis = await Redis.start();
  const hosts = await Promise.all(Array.from({ length: HOSTS }, () => hosted(1, { ...env, REDIS_URL: redis.url })));
  const port = await freePort();
  const lines = hosts.map((host, index) => `  server host${index} 127.0.0.1:${host.port}\n`);
  const configuration = `
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
${lines.join('')}`;
  const proxy = await startHaproxy(folder, configuration, [port]);
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
 * @type {Record<string, { about: string, start: (env: object, folder: string) => Promise<{ port: number, stop(): Promise<unknown> }> }>}
 */
export const servers = {
  stock: { about: 'stock socket.io, one process', start: (env) => start({ ...env, PRINT_PORT: '1' }) },
  one: { about: 'gjallar run, one worker', start: (env) => hosted(1, env) },
  workers: { about: `gjallar run, ${WORKERS} workers`, start: (env) => hosted(WORKERS, env) },
  hosts: { about: `${HOSTS} hosts behind HAProxy, one worker each`, start: startHosts },
};
