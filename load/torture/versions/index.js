import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from '../../harness/servers/redis.js';
import { Front } from '../languages/front.js';
import { progress } from '../support/scenario.js';
import { Service } from '../support/service.js';
import { build, cache, commitOf } from './build.js';
import { Talkers } from './talkers.js';

export const about = 'an older version and this one on one Redis, under an upgrade and its reversal: nothing is lost';

const CLIENTS = 24;
const PAUSE_MS = 100;
const DRAIN_MS = 2000;
/** How long clients may take to hear what they missed. */
const MAX_CATCH_UP_MS = 30_000;

export const parameters = { from: { type: 'string' }, bus: { type: 'string', default: 'auto' } };

export const options = {
  'from REF': 'the older version: a tag or a commit (the last release)',
  'bus name': 'the value of BUS on both servers (auto)',
  'times n': `number of clients (${CLIENTS})`,
  'minutes n': 'time that both versions run side by side (0.25)',
};

export const more = `

  Builds the older version in ${cache}, and starts one server of each version, with two workers each. Half of the
  clients begin on each server; all post to one room. Then the older server stops, and its clients move to this version.
  Then an older server starts again, this version stops, and all clients move back. Every acknowledged message must reach
  each client once and in order. Needs git, npm and redis-server.`;

export async function run({ times = CLIENTS, minutes = 0.25, own: { from, bus } }) {
  const commit = commitOf(from);
  progress(`building ${commit}`);
  const older = build(commit);
  const redis = await Redis.start();
  const environment = { REDIS_URL: redis.url, BUS: bus, DRAIN_TIMEOUT: `${DRAIN_MS}ms` };
  const running = new Set();
  const start = async (main) => {
    const service = await Service.start(environment, [], main);
    running.add(service);
    return service;
  };
  const stop = async (service) => {
    running.delete(service);
    return service.stop();
  };
  const fronts = [];
  let talkers;
  try {
    const [first, present] = [await start(older), await start()];
    // A client goes to the first server that is ready.
    for (const order of [
      [first, present],
      [present, first],
    ]) {
      fronts.push(await Front.start(order));
    }
    talkers = new Talkers(
      fronts.map(({ url }) => url),
      times,
    );
    await talkers.start(PAUSE_MS);
    progress('side by side');
    await sleep(minutes * 60_000);
    const sideBySide = { kept: talkers.kept.length, recovered: talkers.sum(({ recovered }) => recovered) };

    progress('upgrade');
    const codes = [await stop(first)];
    await onServer(present, times);
    await sleep(DRAIN_MS);
    const upgraded = talkers.kept.length;

    progress('reversal');
    const again = await start(older);
    for (const front of fronts) front.servers = [again];
    codes.push(await stop(present));
    await onServer(again, times);
    await sleep(DRAIN_MS);
    const reversed = talkers.kept.length;

    await talkers.stop();
    progress('waiting until all have heard all');
    for (const end = Date.now() + MAX_CATCH_UP_MS; talkers.missing > 0 && Date.now() < end; ) await sleep(200);
    const complaints = [first, present, again].flatMap((service) => service.complaints);
    for (const line of complaints.slice(0, 5)) console.error(`  ${line}`);
    return [
      { name: 'older version', value: commit.slice(0, 12) },
      { name: 'clients', value: times },
      { name: 'acknowledged messages side by side', value: sideBySide.kept, least: times },
      { name: 'of their deliveries, those that a client had to request', value: sideBySide.recovered, most: 0 },
      { name: 'acknowledged messages during the upgrade', value: upgraded - sideBySide.kept, least: times },
      { name: 'acknowledged messages during the reversal', value: reversed - upgraded, least: times },
      { name: 'deliveries', value: talkers.sum(({ heard }) => heard.size) },
      { name: 'acknowledged messages that a client did not hear', value: talkers.missing, most: 0 },
      { name: 'messages that a client heard twice', value: talkers.repeated, most: 0 },
      { name: 'messages out of order', value: talkers.sum(({ disorder }) => disorder), most: 0 },
      { name: 'recoveries that were not complete', value: talkers.sum(({ incomplete }) => incomplete), most: 0 },
      { name: 'messages requested after a reconnection', value: talkers.sum(({ recovered }) => recovered) },
      {
        name: 'messages without an answer, because their connection ended',
        value: talkers.sum(({ unanswered }) => unanswered),
      },
      {
        name: 'rejected messages, but for clients that had not joined again',
        value: talkers.sum(({ refused }) => refused.filter((code) => code !== 'NOT_IN_ROOM').length),
        most: 0,
      },
      { name: 'servers that did not stop with code 0', value: codes.filter((code) => code !== 0).length, most: 0 },
      { name: 'errors in the logs', value: complaints.length, most: 0 },
    ];
  } finally {
    progress('');
    talkers?.close();
    for (const front of fronts) front.close();
    await Promise.all([...running].map((service) => service.stop()));
    await redis.stop();
  }
}

/** Resolves once a server has all clients. */
async function onServer(service, count) {
  for (const end = Date.now() + MAX_CATCH_UP_MS; Date.now() < end; await sleep(200)) {
    if ((await clientsOf(service)) === count) return;
  }
  throw new Error('not all clients moved to the other server');
}

/** The clients of a server by its metrics; the statistics count those of both. */
async function clientsOf({ url }) {
  const text = await (await fetch(`${url}/metrics`, { headers: { Connection: 'close' } })).text();
  return [...text.matchAll(/^gjallar_clients\{.*\} (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
}
