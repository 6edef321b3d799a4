import { setTimeout as sleep } from 'node:timers/promises';
import { numberOption } from '../../harness/command.js';
import { soon } from '../../harness/until.js';
import { Members } from '../support/members.js';
import { progress, randomFrom } from '../support/scenario.js';
import { Talkers } from '../support/talkers.js';
import { ReleasedServer } from './server.js';

export const about = 'releases that die late, crash or hang: reloads that must replace no worker';

export const options = {
  'times n': 'number of bad releases (100; 4 with --short)',
  'minutes n': 'time limit (60)',
  'parallel n': 'servers at the same time: an application and the chat service in turn (4; 2 with --short)',
};

export const parameters = { parallel: { type: 'string' } };

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

/** @throws UsageError */
export function check(values) {
  numberOption(values, 'parallel');
}

export async function run({ short, seed, times = short ? 4 : 100, minutes = 60, own = {} }) {
  const lanes = numberOption(own, 'parallel') ?? (short ? 2 : 4);
  const end = Date.now() + minutes * 60_000;
  const tally = { done: new Map(), wrong: [], good: 0, replaced: 0, disconnected: 0 };
  let next = 0;
  const take = () => (next < times && Date.now() < end ? next++ : undefined);
  const results = await Promise.all(
    Array.from({ length: lanes }, (_, lane) => runLane(lane, { short, random: randomFrom(seed + lane), take, tally })),
  );
  progress('');
  const sum = (key) => results.reduce((total, result) => total + result[key], 0);
  return [
    { name: 'bad releases', value: sumOf(tally.done), least: times > 0 ? 1 : 0 },
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
  // Half of the applications hand their sessions over.
  const hold = lane % 4 === 2 ? { RELOAD_HOLD: '1h' } : {};
  const environment = { WORKERS: `${WORKERS}`, DRAIN_TIMEOUT: '1s', RELOAD_SETTLE: `${SETTLE_MS}ms`, ...hold };
  const server = await ReleasedServer.start({ isHosted, environment });
  let clients;
  try {
    clients = isHosted ? talkersOn(server, short) : membersOn(server, short);
    await clients.ready();
    for (let turn = 0, number = take(); number !== undefined; turn++, number = take()) {
      if (turn % GOOD_EVERY === GOOD_EVERY - 1) await installGood(server, clients, tally);
      const release = badRelease(number, { short, isHosted, random });
      progress(`${lane}: ${number + 1}: ${nameOf(release)}`);
      await installBad(server, release, clients, tally);
      await sleep(random() * 300);
    }
    return await clients.finish();
  } finally {
    clients?.leave();
    await server.stop();
  }
}

function badRelease(number, { short, isHosted, random }) {
  const quick = isHosted ? QUICK_HOSTED : QUICK;
  const isHanging = !short && number % HANGS_EVERY === HANGS_EVERY - 1;
  const fault = isHanging ? 'hangs' : quick[Math.floor(random() * quick.length)];
  // Most die in the time for which they have to live. A busy machine delays the timer.
  const at = random() < 0.1 && !isHanging ? undefined : Math.round(random() ** 0.5 * 0.9 * SETTLE_MS);
  return { fault, at, onlyOdd: random() < 0.3 };
}

function nameOf({ fault, at, onlyOdd }) {
  return `${fault} ${at === undefined ? 'at the start' : 'after it listened'}${onlyOdd ? ', one worker' : ''}`;
}

async function installBad(server, release, clients, tally) {
  const before = await server.pidsNow();
  const disconnects = clients.disconnects;
  server.install(release);
  const { msg } = await server.reload();
  let after;
  await sleep(100);
  await soon(
    async () => {
      after = await server.pidsNow();
      return after.length === WORKERS;
    },
    MAX_END_MS,
    LOOK_MS,
  );
  const name = nameOf(release);
  tally.done.set(release.fault, (tally.done.get(release.fault) ?? 0) + 1);
  if (!msg.startsWith('reload aborted') || String(after) !== String(before)) {
    tally.wrong.push(`${name} (${release.at} ms): ${msg}; ${before} became ${after}`);
  }
  tally.disconnected += clients.disconnects - disconnects;
  server.install({ fault: 'none' });
}

async function installGood(server, clients, tally) {
  const before = await server.pidsNow();
  const { msg } = await server.reload();
  const after = await server.pidsNow();
  if (msg !== 'reload finished' || after.some((pid) => before.includes(pid))) {
    tally.wrong.push(`a good release: ${msg}; ${before} became ${after}`);
  }
  tally.good++;
  await clients.ready();
}

/** Clients of an application. */
function talkersOn({ url }, short) {
  const talkers = new Talkers(url, short ? 8 : 30, short ? 30 : 150);
  return {
    get disconnects() {
      return talkers.outages.length + talkers.disconnected;
    },
    ready: async () => {
      if (!(await talkers.untilConnected(MAX_RECOVERY_MS))) throw new Error('not all clients connect');
    },
    finish: async () => {
      await talkers.finish();
      // Talkers count a message that comes too late as repeated.
      return { pollers: 0, sent: talkers.sent, lost: talkers.lost, repeated: talkers.repeated, outOfOrder: 0 };
    },
    leave: () => {},
  };
}

/** Members of rooms of the chat service. */
function membersOn({ url }, short) {
  const members = new Members(() => url, { count: short ? 6 : 12, rooms: ['north', 'south'], pause: 100 });
  const joined = members.join();
  return {
    get disconnects() {
      // The request of a client on polling may reach a new worker, which relays it, and fail with it.
      return members.reconnections - members.pollingReconnections;
    },
    ready: async () => {
      await joined;
      if (!(await members.allServed(MAX_RECOVERY_MS))) throw new Error('not all members are served');
    },
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

function sumOf(counts) {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}
