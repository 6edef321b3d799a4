import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { io } from 'socket.io-client';
import { postgres as startPostgres, whyNoPostgres } from '../../../test/support/databases.js';
import { DURABLE, RedisProcess } from '../../../test/support/redis.js';
import { descriptorsOf, rssOf } from '../../harness/process/processes.js';
import { Disk } from '../../harness/servers/disk.js';
import { heardFigures, injectFaults } from '../support/inject.js';
import { Members } from '../support/members.js';
import { SupervisedService } from '../support/supervised-service.js';

/** How long it may take until all members are served again after a fault, in ms. */
const RECOVERY = 30_000;
const WORKERS = 2;
const PORT = 3000;

const some = (list, random) => list[Math.floor(random() * list.length)];
const fault = (name, inject) => ({ name, inject });
/** Does something, waits, and undoes it. @param {{ begin(): unknown, end(): unknown }} what */
const passing = (name, { begin, end }, least = 500, more = 2000) =>
  fault(name, async (random) => {
    await begin();
    await sleep(least + random() * more);
    await end();
  });

/** Faults on one host: history in SQLite, archive in PostgreSQL. */
export async function onOneHost(options) {
  const directory = mkdtempSync(join(tmpdir(), 'torture-'));
  chmodSync(directory, 0o755);
  const skipped = [];
  const skip = (name, reason) => skipped.push({ name, value: `skipped: ${reason}` });
  const without = whyNoPostgres();
  const postgres = without ? skip('archive down', without) && undefined : await startPostgres();
  const disk = new Disk(join(directory, 'data'));
  if (disk.whyNotLimited) skip('disk full', disk.whyNotLimited);
  const environment = { WORKERS: String(WORKERS), DATA_DIR: disk.path, DRAIN_TIMEOUT: '1s', HISTORY_TTL: '365d' };
  if (postgres) environment.ARCHIVE_URL = postgres.url;
  mkdirSync(join(directory, 'service'));
  let service;
  try {
    service = await new SupervisedService({ directory: join(directory, 'service'), environment }).start();
    const faults = [
      ...faultsOf(service),
      postgres && passing('archive down', { begin: postgres.kill, end: postgres.start }, 500, 0),
      !disk.whyNotLimited && passing('disk full', { begin: () => disk.fill(), end: () => disk.free() }, 1000, 0),
    ].filter(Boolean);
    const urlOf = () => `http://127.0.0.1:${service.port}`;
    return [...skipped, ...(await figuresOf('one host', { ...options, faults, services: [service], urlOf }))];
  } finally {
    await service?.stop();
    await postgres?.remove();
    disk.remove();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** What can happen to the processes, the clock and the log of a service. */
function faultsOf(service) {
  const replaced = (pids) => service.untilReplaced(pids, WORKERS);
  let ahead = 0;
  const killWorker = async (random) => {
    const pid = some(service.workers, random);
    process.kill(pid, 'SIGKILL');
    await replaced([pid]);
  };
  return [
    fault('worker killed', killWorker),
    fault('worker stopped and resumed', async (random) => {
      const pid = some(service.workers, random);
      process.kill(pid, 'SIGSTOP');
      await sleep(500 + random() * 1000);
      process.kill(pid, 'SIGCONT');
    }),
    fault('worker stopped for good', async (random) => {
      const pid = some(service.workers, random);
      process.kill(pid, 'SIGSTOP');
      await replaced([pid]);
    }),
    fault('primary killed and restarted', async () => {
      const { pid, workers } = service;
      service.signal('SIGKILL');
      while (service.pid === pid) await sleep(20);
      await replaced(workers);
    }),
    fault('rolling reload', async () => {
      const { workers } = service;
      service.signal('SIGHUP');
      await replaced(workers);
    }),
    fault('clock set forward', async () => {
      ahead += 600_000;
      writeFileSync(service.clock, String(ahead));
      await sleep(200);
    }),
    fault('log not read', async (random) => {
      service.readLog(false);
      service.fillLog();
      await killWorker(random);
      await sleep(500);
      service.readLog(true);
    }),
    fault('log closed', async (random) => {
      service.closeLog();
      await killWorker(random);
      service.openLog();
    }),
  ];
}

/** Faults where Redis joins two hosts. @param {import('../../../test/support/hosts.js').Hosts} hosts `first`, `second` and `redis` */
export async function onTwoHosts(hosts, options) {
  const directory = mkdtempSync(join(tmpdir(), 'torture-'));
  const services = [];
  let redis;
  try {
    const on = (name) => {
      mkdirSync(join(directory, name));
      return { directory: join(directory, name), launch: hosts.launcher(name) };
    };
    const { directory: data, launch } = on('redis');
    redis = new RedisProcess(6379, data, { settings: DURABLE, host: hosts.addressOf('redis'), launch });
    await redis.start();
    const names = ['first', 'second'];
    for (const name of names) {
      // The short form still has two workers on one host.
      const workers = options.short && name === 'second' ? 1 : WORKERS;
      const environment = { HOST: hosts.addressOf(name), PORT: `${PORT}`, WORKERS: `${workers}` };
      Object.assign(environment, { REDIS_URL: redis.url, DRAIN_TIMEOUT: '1s' });
      services.push(await new SupervisedService({ ...on(name), environment }).start());
    }
    const cut = (title, name) => passing(title, { begin: () => hosts.cut(name), end: () => hosts.heal(name) });
    const signals = { begin: () => redis.signal('SIGSTOP'), end: () => redis.signal('SIGCONT') };
    const pause = passing('Redis paused', signals);
    const restart = fault('Redis restarted', () => redis.restart());
    const faults = [restart, pause, cut('host cut off', 'second'), cut('Redis cut off', 'redis')];
    const urlOf = (index) => `http://${hosts.addressOf(names[index % 2])}:${PORT}`;
    return await figuresOf('two hosts', { ...options, faults, services, urlOf });
  } finally {
    await Promise.all(services.map((service) => service.stop()));
    await redis?.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** What faults did to members, and what is left when these have gone. */
async function figuresOf(name, { faults, services, urlOf, short, times, minutes, seed }) {
  const rooms = ['north', 'south', 'east', 'west'].slice(0, short ? 3 : 4);
  const members = new Members(urlOf, { count: short ? 6 : 12, rooms, pause: 100 });
  const held = () => holdings(services.flatMap((service) => service.processes));
  let holds;
  try {
    const { done, unserved } = await injectFaults({
      ...{ name, members, faults, times, seed, recovery: RECOVERY, end: Date.now() + minutes * 60_000 },
      before: async () => {
        holds = held();
      },
      after: (_fault, random) => sleep(random() * 200),
    });
    await members.finish(RECOVERY);
    const figures = [
      ...[...done].map(([what, { count, longestGap }]) => ({
        ...{ name: `${name}: ${what}: longest time without any answer`, value: longestGap, unit: 'ms', times: count },
      })),
      { name: `${name}: faults after which a member was not served`, value: unserved, most: 0 },
      { name: `${name}: refused messages`, value: members.count('refused') },
      { name: `${name}: messages without an answer`, value: members.count('unknown') },
      { name: `${name}: deliveries lost of acknowledged messages`, value: members.missing(), most: 0 },
      ...heardFigures(name, members),
      { name: `${name}: recoveries that were told to be incomplete`, value: members.incomplete, most: 0 },
      { name: `${name}: reconnections`, value: members.reconnections },
    ];
    members.leave();
    return [...figures, ...(await afterwards(name, holds, held, urlOf(0), rooms))];
  } finally {
    members.leave();
  }
}

/** What is left when all members have gone: presence, descriptors, memory. */
async function afterwards(name, before, held, url, rooms) {
  const socket = io(url, { forceNew: true });
  const membersOf = async (room) => (await socket.timeout(5000).emitWithAck('who', room)).members;
  const end = Date.now() + RECOVERY;
  let members;
  let after;
  do {
    await sleep(200);
    members = 0;
    for (const room of rooms) members += await membersOf(room);
    after = held();
  } while (Date.now() < end && (members > 0 || after.descriptors > before.descriptors));
  socket.disconnect();
  const most = Math.round(before.memory * 1.5);
  return [
    { name: `${name}: members left in rooms`, value: members, most: 0 },
    { name: `${name}: descriptors (${before.descriptors} before)`, value: after.descriptors, most: before.descriptors },
    { name: `${name}: memory (${before.memory} before)`, value: after.memory, unit: 'MiB', most },
  ];
}

/** What processes hold: descriptors, and memory in MiB. @param {number[]} pids */
function holdings(pids) {
  const sum = (numberOf) => pids.reduce((total, pid) => total + numberOf(pid), 0);
  return { descriptors: sum(descriptorsOf), memory: Math.round(sum(rssOf) / 2 ** 20) };
}
