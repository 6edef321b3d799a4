import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from '../../harness/servers/redis.js';
import { SupervisedService } from '../support/supervised-service.js';
import { injectFaults } from './inject.js';

const PORT = 3000;
/** Workers of the first host and of the second one. The short form still has two on one host. */
const WORKERS = [2, 2];
const WORKERS_SHORT = [2, 1];

/** Faults where Redis joins two hosts. @param {import('../../harness/servers/hosts.js').Hosts} hosts `first`, `second` and `redis` */
export async function faultsOnTwoHosts(hosts, { short, seed, times, minutes }) {
  const directory = mkdtempSync(join(tmpdir(), 'torture-'));
  const started = [];
  const workers = short ? WORKERS_SHORT : WORKERS;
  let redis;
  try {
    const folder = (name) => {
      mkdirSync(join(directory, name));
      return join(directory, name);
    };
    const on = (name) => ({ directory: folder(name), launch: hosts.launcher(name) });
    redis = await Redis.start({ ...on('redis'), host: hosts.addressOf('redis'), port: 6379 });
    for (const [index, name] of ['first', 'second'].entries()) {
      const address = { HOST: hosts.addressOf(name), PORT: String(PORT) };
      const environment = { ...address, WORKERS: String(workers[index]), REDIS_URL: redis.url, DRAIN_TIMEOUT: '1s' };
      started.push(await SupervisedService.start({ ...on(name), environment }));
    }
    const urls = ['first', 'second'].map((name) => `http://${hosts.addressOf(name)}:${PORT}`);
    return await injectFaults({
      name: 'two hosts',
      faults: faultsOf(hosts, redis),
      ...{ short, seed, times, minutes },
      services: started,
      urlOf: (index) => urls[index % 2],
    });
  } finally {
    await Promise.all(started.map((service) => service.stop()));
    await redis?.kill();
    rmSync(directory, { recursive: true, force: true });
  }
}

function faultsOf(hosts, redis) {
  const cut = async (name, random) => {
    hosts.cut(name);
    await sleep(500 + random() * 2000);
    hosts.heal(name);
  };
  return [
    { name: 'Redis restarted', inject: () => redis.restart() },
    {
      name: 'Redis paused',
      inject: async (random) => {
        redis.signal('SIGSTOP');
        await sleep(500 + random() * 2000);
        redis.signal('SIGCONT');
      },
    },
    { name: 'host cut off', inject: (random) => cut('second', random) },
    { name: 'Redis cut off', inject: (random) => cut('redis', random) },
  ];
}
