import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { numberOption } from '../../harness/command.js';
import { WITHOUT_LIMITS } from '../../harness/service.js';
import { soon } from '../../harness/until.js';
import { Listeners } from '../application/trial.js';
import { Announcer, answerOf } from '../support/announcer.js';
import { Members } from '../support/members.js';
import { progress, randomFrom } from '../support/scenario.js';
import { RunningService } from '../support/service.js';

const fault = fileURLToPath(new URL('fault.cjs', import.meta.url));
const app = fileURLToPath(new URL('../application/app.mjs', import.meta.url));

const WORKERS = 2;
const SETTLE_MS = 1000;
/** How long it may take until all clients are served again after a reload that has replaced their workers, in ms. */
const MAX_RECOVERY_MS = 60_000;
/** How long the workers of an aborted reload may take to end, in ms. */
const MAX_END_MS = 30_000;
/** How often the workers are asked for meanwhile, in ms: each answer takes all of them some time. */
const LOOK_MS = 100;
const QUICK = ['exit', 'killed', 'crash'];
/** The chat service logs an exception that nothing catches, and continues. */
const QUICK_HOSTED = [...QUICK, 'exception'];
/** A release that hangs is killed after 10 s. One of so many bad releases does, and none in the short form. */
const HANGS_EVERY = 8;
/** One good release follows this number of bad ones. */
const GOOD_EVERY = 5;

export async function run({ short, seed, times = short ? 4 : 100, minutes = 60, own = {} }) {
  const lanes = numberOption(own, 'parallel') ?? (short ? 2 : 4);
  const end = Date.now() + minutes * 60_000;
  const tally = { done: new Map(), wrong: [], good: 0, disconnected: 0 };
  let next = 0;
  const take = () => (next < times && Date.now() < end ? next++ : undefined);
  const results = await Promise.all(
    Array.from({ length: lanes }, (_, lane) => runLane(lane, { short, random: randomFrom(seed + lane), take, tally })),
  );
  progress('');
  const sum = (key) => results.reduce((total, result) => total + result[key], 0);
  const bad = [...tally.done.values()].reduce((total, count) => total + count, 0);
  return [
    { name: 'bad releases', value: bad, least: times > 0 ? 1 : 0 },
    { name: 'kinds', value: [...tally.done].map(([name, count]) => `${count} × ${name}`).join(', ') || 'none' },
    { name: 'bad releases that replaced a worker, or were not reported', value: tally.wrong.length, most: 0 },
    ...tally.wrong.map((what) => ({ name: 'wrong', value: what })),
    { name: 'reconnections of clients on polling, whose requests any worker may get', value: sum('pollers') },
    { name: 'clients on WebSockets that a bad release disconnected', value: tally.disconnected, most: 0 },
    { name: 'good releases in between', value: tally.good },
    { name: 'messages sent or acknowledged', value: sum('sent'), least: 1 },
    { name: 'lost', value: sum('lost'), most: 0 },
    { name: 'repeated', value: sum('repeated'), most: 0 },
    { name: 'out of order', value: sum('outOfOrder'), most: 0 },
  ];
}

async function runLane(lane, { short, random, take, tally }) {
  const isHosted = lane % 2 === 0;
  const folder = mkdtempSync(join(tmpdir(), 'torture-release-'));
  const file = join(folder, 'release');
  /** Workers that start from now on run this release. */
  const install = (release) => writeFileSync(file, JSON.stringify(release));
  install({ fault: 'none' });
  const timing = { DRAIN_TIMEOUT: '1s', RELOAD_SETTLE: `${SETTLE_MS}ms` };
  const release = { RELEASE: file, NODE_OPTIONS: `--require ${fault}` };
  const server = await RunningService.open({
    environment: { ...WITHOUT_LIMITS, ...timing, ...release, ADMIN_PORT: '0', WORKERS: `${WORKERS}` },
    app: isHosted ? app : undefined,
  });
  const place = { server, install, tally, clients: undefined };
  try {
    place.clients = isHosted ? await listenersOn(server, short) : await membersOn(server, short);
    for (let turn = 0, number = take(); number !== undefined; turn++, number = take()) {
      if (turn % GOOD_EVERY === GOOD_EVERY - 1) await installGood(place);
      const bad = badRelease(number, { short, isHosted, random });
      progress(`${lane}: ${number + 1}: ${nameOf(bad)}`);
      await installBad(place, bad);
      await sleep(random() * 300);
    }
    return await place.clients.finish();
  } finally {
    place.clients?.leave();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function badRelease(number, { short, isHosted, random }) {
  const quick = isHosted ? QUICK_HOSTED : QUICK;
  const isHanging = !short && number % HANGS_EVERY === HANGS_EVERY - 1;
  const kind = isHanging ? 'hangs' : quick[Math.floor(random() * quick.length)];
  // Most die in the time for which they have to live. A busy machine delays the timer.
  const at = random() < 0.1 && !isHanging ? undefined : Math.round(random() ** 0.5 * 0.9 * SETTLE_MS);
  return { fault: kind, at, onlyOdd: random() < 0.3 };
}

function nameOf({ fault: kind, at, onlyOdd }) {
  return `${kind} ${at === undefined ? 'at the start' : 'after it listened'}${onlyOdd ? ', one worker' : ''}`;
}

/** The process ids of the workers that respond, in order. */
async function pidsOf(server) {
  return (await server.workers()).map(({ pid }) => pid).sort((one, other) => one - other);
}

async function installBad({ server, install, clients, tally }, release) {
  const before = await pidsOf(server);
  const disconnects = clients.disconnects();
  install(release);
  const { msg } = await server.reload();
  let after;
  await sleep(100);
  const isWhole = async () => {
    after = await pidsOf(server);
    return after.length === WORKERS;
  };
  await soon(isWhole, MAX_END_MS, LOOK_MS);
  tally.done.set(release.fault, (tally.done.get(release.fault) ?? 0) + 1);
  if (!msg.startsWith('reload aborted') || String(after) !== String(before)) {
    tally.wrong.push(`${nameOf(release)} (${release.at} ms): ${msg}; ${before} became ${after}`);
  }
  tally.disconnected += clients.disconnects() - disconnects;
  install({ fault: 'none' });
}

async function installGood({ server, clients, tally }) {
  const before = await pidsOf(server);
  const { msg } = await server.reload();
  const after = await pidsOf(server);
  if (msg !== 'reload finished' || after.some((pid) => before.includes(pid))) {
    tally.wrong.push(`a good release: ${msg}; ${before} became ${after}`);
  }
  tally.good++;
  await clients.ready();
}

/** Clients of an application. */
async function listenersOn({ url }, short) {
  const listeners = new Listeners();
  await listeners.open(url, short ? 8 : 30, [['polling', 'websocket']]);
  const announcer = new Announcer((number) => answerOf(`${url}/?number=${number}`), short ? 50 : 20);
  return {
    disconnects: () => listeners.disconnects,
    ready: async () => {
      if (!(await listeners.untilConnected(MAX_RECOVERY_MS))) throw new Error('not all clients connect');
    },
    finish: async () => {
      await announcer.stop();
      const { confirmed } = announcer;
      await soon(() => listeners.lost(confirmed) === 0, MAX_RECOVERY_MS, LOOK_MS);
      const { repeated } = listeners;
      return {
        pollers: 0,
        sent: confirmed.size,
        lost: listeners.lost(confirmed),
        repeated,
        outOfOrder: listeners.outOfOrder(),
      };
    },
    leave: () => listeners.close(),
  };
}

/** Members of rooms of the chat service. */
async function membersOn({ url }, short) {
  const members = new Members(() => url, { count: short ? 6 : 12, rooms: ['north', 'south'], pause: 100 });
  const ready = async () => {
    if (!(await members.allServed(MAX_RECOVERY_MS))) throw new Error('not all members are served');
  };
  await members.join();
  await ready();
  return {
    // The request of a client on polling may reach a new worker, which relays it, and fail with it.
    disconnects: () => members.reconnections - members.pollingReconnections,
    ready,
    finish: async () => {
      await members.finish(MAX_RECOVERY_MS);
      return {
        pollers: members.pollingReconnections,
        sent: members.count('acked'),
        lost: members.missing(),
        repeated: members.duplicated(),
        outOfOrder: members.outOfOrder(),
      };
    },
    leave: () => members.leave(),
  };
}
