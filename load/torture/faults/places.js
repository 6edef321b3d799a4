import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { io } from 'socket.io-client';
import { postgres as startPostgres, whyNoPostgres } from '../../../test/support/databases.js';
import { DURABLE, RedisProcess } from '../../../test/support/redis.js';
import { within } from '../../harness/process/child.js';
import { descriptorsOf, rssOf } from '../../harness/process/processes.js';
import { Disk } from '../../harness/servers/disk.js';
import { soon } from '../../harness/until.js';
import { Members } from '../support/members.js';
import { cleaningUp, named, pick, progress, randomFrom, shuffled } from '../support/scenario.js';
import { SupervisedService } from '../support/supervised-service.js';

/** How long it may take until all members are served again after a fault, in ms. */
const RECOVERY = 30_000;
/** How long a fault may take, with what is to come back after it, in ms. */
const MAX_FAULT_MS = 60_000;
const WORKERS = 2;
const PORT = 3000;

const fault = (name, inject) => ({ name, inject });
/** Does something, waits, and undoes it. @param {{ begin(): unknown, end(): unknown }} what */
const passing = (name, { begin, end }, least = 500, more = 2000) =>
  fault(name, async (random) => {
    await begin();
    await sleep(least + random() * more);
    await end();
  });

/** Faults on one host: history in SQLite, archive in PostgreSQL. */
export const onOneHost = (options) =>
  cleaningUp(async (use) => {
    const directory = temporary(use);
    chmodSync(directory, 0o755);
    const skipped = [];
    const skip = (name, reason) => skipped.push({ name, value: `skipped: ${reason}` });
    const disk = use(new Disk(join(directory, 'data')), 'remove');
    if (disk.whyNotLimited) skip('disk full', disk.whyNotLimited);
    const without = whyNoPostgres();
    if (without) skip('archive down', without);
    const postgres = without ? undefined : use(await startPostgres(), 'remove');
    const environment = { WORKERS: `${WORKERS}`, DATA_DIR: disk.path, DRAIN_TIMEOUT: '1s', HISTORY_TTL: '365d' };
    if (postgres) environment.ARCHIVE_URL = postgres.url;
    const service = new SupervisedService({ directory: subfolder(directory, 'service'), environment });
    use(await service.start());
    const faults = [
      ...faultsOf(service),
      postgres && passing('archive down', { begin: postgres.kill, end: postgres.start }, 500, 0),
      !disk.whyNotLimited && passing('disk full', { begin: () => disk.fill(), end: () => disk.free() }, 1000, 0),
    ].filter(Boolean);
    const urlOf = () => `http://127.0.0.1:${service.port}`;
    return [...skipped, ...(await figuresOf('one host', { ...options, faults, services: [service], urlOf }, use))];
  });

/** What can happen to the processes, the clock and the log of a service. */
function faultsOf(service) {
  const replaced = (pids) => service.untilReplaced(pids, WORKERS);
  let ahead = 0;
  const ended = (signal) => async (random) => {
    const pid = pick(service.workers, random);
    process.kill(pid, signal);
    await replaced([pid]);
  };
  const killWorker = ended('SIGKILL');
  return [
    fault('worker killed', killWorker),
    fault('worker stopped and resumed', async (random) => {
      const pid = pick(service.workers, random);
      process.kill(pid, 'SIGSTOP');
      await sleep(500 + random() * 1000);
      process.kill(pid, 'SIGCONT');
    }),
    fault('worker stopped for good', ended('SIGSTOP')),
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
      const readOn = service.blockLog();
      await killWorker(random);
      await sleep(500);
      readOn();
    }),
    fault('log closed', async (random) => {
      service.closeLog();
      await killWorker(random);
      service.openLog();
    }),
  ];
}

/** Faults where Redis joins two hosts. @param {import('../../../test/support/hosts.js').Hosts} hosts `first`, `second` and `redis` */
export const onTwoHosts = (hosts, options) =>
  cleaningUp(async (use) => {
    const directory = temporary(use);
    const on = (name) => ({ directory: subfolder(directory, name), launch: hosts.launcher(name) });
    const { directory: data, launch } = on('redis');
    const redis = use(new RedisProcess(6379, data, { settings: DURABLE, host: hosts.addressOf('redis'), launch }));
    await redis.start();
    const names = ['first', 'second'];
    const services = [];
    for (const name of names) {
      // The short form still has two workers on one host.
      const workers = options.short && name === 'second' ? 1 : WORKERS;
      const environment = { HOST: hosts.addressOf(name), PORT: `${PORT}`, WORKERS: `${workers}` };
      Object.assign(environment, { REDIS_URL: redis.url, DRAIN_TIMEOUT: '1s' });
      services.push(use(await new SupervisedService({ ...on(name), environment }).start()));
    }
    const cut = (title, name) => passing(title, { begin: () => hosts.cut(name), end: () => hosts.heal(name) });
    const signals = { begin: () => redis.signal('SIGSTOP'), end: () => redis.signal('SIGCONT') };
    const pause = passing('Redis paused', signals);
    const restart = fault('Redis restarted', () => redis.restart());
    const faults = [restart, pause, cut('host cut off', 'second'), cut('Redis cut off', 'redis')];
    const urlOf = (index) => `http://${hosts.addressOf(names[index % 2])}:${PORT}`;
    return await figuresOf('two hosts', { ...options, faults, services, urlOf }, use);
  });

function temporary(use) {
  const directory = mkdtempSync(join(tmpdir(), 'torture-'));
  use(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function subfolder(directory, name) {
  mkdirSync(join(directory, name));
  return join(directory, name);
}

/**
 * Injects faults into services whose members talk, each so many times, in an order that follows from the seed. Then the members
 * leave. Resolves with figures.
 */
async function figuresOf(name, { faults, services, urlOf, short, times, minutes, seed }, use) {
  const rooms = ['north', 'south', 'east', 'west'].slice(0, short ? 3 : 4);
  const members = use(new Members(urlOf, { count: short ? 6 : 12, rooms, pause: 100 }), 'leave');
  const held = () => holdings(services.flatMap((service) => service.processes));
  const end = Date.now() + minutes * 60_000;
  const random = randomFrom(seed);
  const order = shuffled(
    faults.flatMap((one) => Array(times).fill(one)),
    random,
  );
  const gaps = new Map();
  let unserved = 0;
  await members.join();
  if (!(await members.allServed(RECOVERY))) throw new Error('the members are not served before the first fault');
  const holds = held();
  for (const [index, { name: what, inject }] of order.entries()) {
    if (Date.now() > end) break;
    progress(`${name}: ${index + 1} of ${order.length}: ${what}`);
    members.takeLongestGap();
    await within(MAX_FAULT_MS, inject(random), `"${what}" did not come to its end`);
    if (!(await members.allServed(RECOVERY))) unserved++;
    gaps.set(what, [...(gaps.get(what) ?? []), members.takeLongestGap()]);
    await sleep(random() * 200);
  }
  await members.finish(RECOVERY);
  const figures = [
    ...[...gaps].map(([what, all]) => ({
      ...{ name: `${what}: longest time without any answer`, value: Math.max(...all), unit: 'ms', times: all.length },
    })),
    { name: 'faults after which a member was not served', value: unserved, most: 0 },
    { name: 'acknowledged messages', value: members.count('acked'), least: 1 },
    { name: 'deliveries duplicated', value: members.repeated, most: 0 },
    { name: 'deliveries out of order', value: members.outOfOrder(), most: 0 },
    { name: 'deliveries of refused messages', value: members.refusedButHeard(), most: 0 },
    { name: 'refused messages', value: members.count('refused') },
    { name: 'messages without an answer', value: members.count('unknown') },
    { name: 'deliveries lost of acknowledged messages', value: members.missing(), most: 0 },
    { name: 'recoveries that were told to be incomplete', value: members.incomplete, most: 0 },
    { name: 'reconnections', value: members.returns.length },
  ];
  members.leave();
  return named(name, [...figures, ...(await afterwards(holds, held, urlOf(0), rooms))]);
}

/** What is left when all members have gone: presence, descriptors, memory. */
async function afterwards(before, held, url, rooms) {
  const socket = io(url, { forceNew: true });
  let members;
  let after;
  const isLeft = async () => {
    members = 0;
    for (const room of rooms) members += (await socket.timeout(5000).emitWithAck('who', room)).members;
    after = held();
    return members === 0 && after.descriptors <= before.descriptors;
  };
  await soon(isLeft, RECOVERY, 200);
  socket.disconnect();
  const most = Math.round(before.memory * 1.5);
  return [
    { name: 'members left in rooms', value: members, most: 0 },
    { name: `descriptors (${before.descriptors} before)`, value: after.descriptors, most: before.descriptors },
    { name: `memory (${before.memory} before)`, value: after.memory, unit: 'MiB', most },
  ];
}

/** What processes hold: descriptors, and memory in MiB. @param {number[]} pids */
function holdings(pids) {
  const sum = (numberOf) => pids.reduce((total, pid) => total + numberOf(pid), 0);
  return { descriptors: sum(descriptorsOf), memory: Math.round(sum(rssOf) / 2 ** 20) };
}
