import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { own } from '../harness/at-exit.js';
import { freePort } from '../harness/free-port.js';
import { Redis } from '../harness/servers/redis.js';
import { accepts, HOST } from '../matrix/process.js';
import { bareEnvironment } from '../torture/support/service.js';

const app = fileURLToPath(new URL('app.mjs', import.meta.url));
const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const HOSTS = 3;

/** A process that ends with `stop()`, and with this one. */
class Child {
  constructor(program, args, env = {}) {
    this.process = own(
      spawn(program, args, { env: { ...bareEnvironment(), ...env }, stdio: ['ignore', 'pipe', 'inherit'] }),
    );
    this.ended = once(this.process, 'exit');
  }

  /** Resolves with the port in the line that an application prints when all its workers listen. */
  async port() {
    for await (const line of createInterface(this.process.stdout)) {
      const [, port] = /^gjallar: .*on port (\d+)/.exec(line) ?? [];
      if (port === undefined) continue;
      this.process.stdout.resume();
      return Number(port);
    }
    throw new Error('the application ended at its start');
  }

  async stop() {
    this.process.kill('SIGTERM');
    await this.ended;
  }
}

async function startApplication(command, env) {
  const child = new Child(process.execPath, command, { PORT: '0', RATE_LIMIT: 'off', ...env });
  return { port: await child.port(), stop: () => child.stop() };
}

const hosted = (workers, env) => startApplication([main, 'run', app, '--workers', String(workers)], env);

/** Hosts on one Redis, behind HAProxy without affinity: each request goes to the next host. */
async function startHosts({ workers, folder, ...env }) {
  const data = join(folder, `redis-${Date.now()}`);
  mkdirSync(data);
  const redis = await Redis.start({ directory: data, host: HOST, port: await freePort(HOST) });
  const hosts = await Promise.all(
    Array.from({ length: HOSTS }, () => hosted(workers, { ...env, REDIS_URL: redis.url })),
  );
  const port = await freePort(HOST);
  const file = join(folder, `haproxy-${port}.cfg`);
  writeFileSync(
    file,
    `
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  timeout tunnel 1h
  option abortonclose
frontend clients
  bind ${HOST}:${port}
  default_backend hosts
backend hosts
  balance roundrobin
${hosts.map((host, index) => `  server host${index} ${HOST}:${host.port}\n`).join('')}`,
  );
  const proxy = new Child('haproxy', ['-db', '-f', file]);
  while (!(await accepts(port))) await sleep(20);
  const stop = async () => {
    proxy.process.kill('SIGKILL');
    await Promise.all(hosts.map((host) => host.stop()));
    await redis.kill();
  };
  return { port, stop };
}

/**
 * What the suites run against. `start` resolves with the port, and a function that ends everything.
 *
 * @type {Record<string, { about: (workers: number) => string, start: (options: object) => Promise<{ port: number, stop(): Promise<void> }> }>}
 */
export const servers = {
  stock: {
    about: () => 'stock socket.io, one process',
    start: ({ SUITE }) => startApplication([app], { SUITE, PRINT_PORT: '1' }),
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
