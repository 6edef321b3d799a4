import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DURABLE, RedisProcess } from '../../test/support/redis.js';
import { Wire } from '../../test/support/wire.js';
import { build, commitOf, lastRelease } from '../harness/older.js';
import { until } from '../harness/until.js';
import { Members } from './support/members.js';
import { cleaningUp, progress } from './support/scenario.js';
import { Service } from './support/service.js';

const CLIENTS = 24;
const PAUSE_MS = 100;
const CHECK_MS = 100;
const DRAIN_MS = 2000;
/** How long clients may take to hear what they missed. */
const MAX_CATCH_UP_MS = 30_000;

export async function run({ times = CLIENTS, minutes = 0.25, own: { from, bus = 'auto' } }) {
  const commit = from ? commitOf(from) : lastRelease();
  if (!commit)
    throw new Error(from ? `git knows no version "${from}"` : 'there is no release yet; name a commit with --from');
  progress(`building ${commit}`);
  const older = join(build(commit), 'dist', 'main.js');
  return cleaningUp((use) => upgradeAndBack({ commit, older, times, minutes, bus }, use));
}

async function upgradeAndBack({ commit, older, times, minutes, bus }, use) {
  const redis = use(await RedisProcess.start(...DURABLE), 'remove');
  const environment = { REDIS_URL: redis.url, BUS: bus, DRAIN_TIMEOUT: `${DRAIN_MS}ms` };
  const running = new Set();
  const ready = new Set();
  const start = async (main) => {
    const service = use(await Service.start({ environment, main }));
    running.add(service);
    return service;
  };
  const stop = async (service) => {
    const code = await service.stop();
    running.delete(service);
    return code;
  };
  const check = setInterval(async () => {
    for (const service of running) {
      if ((await service.readiness())?.ok) ready.add(service);
      else ready.delete(service);
    }
  }, CHECK_MS);
  use(() => clearInterval(check));
  const [first, present] = [await start(older), await start()];
  /** TCP load balancers: new connections go to the first of their servers that is ready. */
  const fronts = [{ servers: [first, present] }, { servers: [present, first] }];
  for (const front of fronts) {
    const portNow = () => front.servers.find((one) => running.has(one) && ready.has(one))?.port;
    front.wire = use(await Wire.to(portNow), 'close');
  }
  const urlOf = (index) => `http://127.0.0.1:${fronts[index % fronts.length].wire.port}`;
  const members = use(new Members(urlOf, { count: times, rooms: ['north', 'south'], pause: PAUSE_MS }), 'leave');
  await members.join();
  progress('side by side');
  await sleep(minutes * 60_000);
  const sideBySide = { kept: members.count('acked'), recovered: members.recovered };

  /** One server stops, and its clients move to the other one. Resolves with how many messages were acknowledged by then. */
  const codes = [];
  const move = async (what, leaving, staying) => {
    progress(what);
    codes.push(await stop(leaving));
    await onServer(staying, times);
    await sleep(DRAIN_MS);
    return members.count('acked');
  };
  const upgraded = await move('upgrade', first, present);
  const again = await start(older);
  for (const front of fronts) front.servers = [again];
  const reversed = await move('reversal', present, again);

  progress('waiting until all have heard all');
  await members.finish(MAX_CATCH_UP_MS);
  const complaints = [first, present, again].flatMap((service) => service.complaints);
  for (const line of complaints.slice(0, 5)) console.error(`  ${line}`);
  const rejected = members.rejections.filter((code) => code !== 'NOT_IN_ROOM');
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
    { name: 'messages without an answer, because their connection ended', value: members.count('unknown') },
    { name: 'rejected messages, but for clients that had not joined again', value: rejected.length, most: 0 },
    { name: 'servers that did not stop with code 0', value: codes.filter((code) => code !== 0).length, most: 0 },
    { name: 'errors in the logs', value: complaints.length, most: 0 },
  ];
}

/** Resolves once a server has all clients, by its metrics; the statistics count those of both. */
function onServer(service, count) {
  const hasAll = async () => (await service.metric(/^gjallar_clients\{.*\} (\d+)$/gm)) === count;
  return until(hasAll, 'not all clients moved to the other server', MAX_CATCH_UP_MS);
}
