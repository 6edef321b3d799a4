import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DURABLE, RedisProcess } from '../../test/support/redis.js';
import { Wire } from '../../test/support/wire.js';
import { build, commitOf, lastRelease } from '../harness/older.js';
import { until } from '../harness/until.js';
import { Members } from './support/members.js';
import { progress } from './support/scenario.js';
import { Service } from './support/service.js';

const CLIENTS = 24;
const PAUSE_MS = 100;
const CHECK_MS = 100;
const DRAIN_MS = 2000;
/** How long clients may take to hear what they missed. */
const MAX_CATCH_UP_MS = 30_000;

export async function run({ times = CLIENTS, minutes = 0.25, own: { from, bus } }) {
  const commit = from ? commitOf(from) : lastRelease();
  if (!commit)
    throw new Error(from ? `git knows no version "${from}"` : 'there is no release yet; name a commit with --from');
  progress(`building ${commit}`);
  const older = join(build(commit), 'dist', 'main.js');
  const redis = await RedisProcess.start(...DURABLE);
  const environment = { REDIS_URL: redis.url, BUS: bus, DRAIN_TIMEOUT: `${DRAIN_MS}ms` };
  const running = new Set();
  const start = async (main) => {
    const service = await Service.start(environment, [], main);
    running.add(service);
    return service;
  };
  const stop = async (service) => {
    const code = await service.stop();
    running.delete(service);
    ready.delete(service);
    return code;
  };
  /** TCP load balancers: new connections go to the first of their servers that is ready. */
  const fronts = [];
  const ready = new Set();
  const check = setInterval(async () => {
    for (const service of running) {
      const { ok } = await fetch(`${service.url}/readyz`).catch(() => ({ ok: false }));
      if (ok) ready.add(service);
      else ready.delete(service);
    }
  }, CHECK_MS);
  let members;
  try {
    const [first, present] = [await start(older), await start()];
    for (const servers of [
      [first, present],
      [present, first],
    ]) {
      const front = { servers };
      front.wire = await Wire.to(() => front.servers.find((one) => ready.has(one))?.port);
      fronts.push(front);
    }
    members = new Members((index) => `http://127.0.0.1:${fronts[index % fronts.length].wire.port}`, {
      count: times,
      rooms: ['north', 'south'],
      pause: PAUSE_MS,
    });
    await members.join();
    progress('side by side');
    await sleep(minutes * 60_000);
    const sideBySide = { kept: members.count('acked'), recovered: members.recovered };

    progress('upgrade');
    const codes = [await stop(first)];
    await onServer(present, times);
    await sleep(DRAIN_MS);
    const upgraded = members.count('acked');

    progress('reversal');
    const again = await start(older);
    for (const front of fronts) front.servers = [again];
    codes.push(await stop(present));
    await onServer(again, times);
    await sleep(DRAIN_MS);
    const reversed = members.count('acked');

    progress('waiting until all have heard all');
    await members.finish(MAX_CATCH_UP_MS);
    const complaints = [first, present, again].flatMap((service) => service.complaints);
    for (const line of complaints.slice(0, 5)) console.error(`  ${line}`);
    return [
      { name: 'older version', value: commit.slice(0, 12) },
      { name: 'clients', value: times },
      { name: 'acknowledged messages side by side', value: sideBySide.kept, least: times },
      { name: 'of their deliveries, those that a client had to request', value: sideBySide.recovered, most: 0 },
      { name: 'acknowledged messages during the upgrade', value: upgraded - sideBySide.kept, least: times },
      { name: 'acknowledged messages during the reversal', value: reversed - upgraded, least: times },
      { name: 'deliveries', value: members.deliveries },
      { name: 'acknowledged messages that a client did not hear', value: members.missing(), most: 0 },
      { name: 'messages that a client heard twice', value: members.repeated, most: 0 },
      { name: 'messages out of order', value: members.outOfOrder(), most: 0 },
      { name: 'recoveries that were not complete', value: members.incomplete, most: 0 },
      { name: 'messages requested after a reconnection', value: members.recovered },
      {
        name: 'messages without an answer, because their connection ended',
        value: members.count('unknown'),
      },
      {
        name: 'rejected messages, but for clients that had not joined again',
        value: members.rejections.filter((code) => code !== 'NOT_IN_ROOM').length,
        most: 0,
      },
      { name: 'servers that did not stop with code 0', value: codes.filter((code) => code !== 0).length, most: 0 },
      { name: 'errors in the logs', value: complaints.length, most: 0 },
    ];
  } finally {
    progress('');
    members?.leave();
    clearInterval(check);
    for (const { wire } of fronts) wire.close();
    await Promise.all([...running].map((service) => service.stop()));
    await redis.remove();
  }
}

/** Resolves once a server has all clients, by its metrics; the statistics count those of both. */
function onServer(service, count) {
  const hasAll = async () => (await service.metric(/^gjallar_clients\{.*\} (\d+)$/gm)) === count;
  return until(hasAll, 'not all clients moved to the other server', MAX_CATCH_UP_MS);
}
