import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { numberOption, rejectUnknown } from '../../harness/command.js';
import { childrenOf } from '../../harness/process/processes.js';
import { until } from '../../harness/until.js';
import { Announcer } from '../support/announcer.js';
import { Hosted } from '../support/hosted.js';
import { progress, randomFrom } from '../support/scenario.js';
import { Listeners } from './listeners.js';

export const about = 'workers that die again and again: sessions that clients do not get back, events lost or repeated';

export const options = {
  'times n': 'number of faults, on 2, 3 and 4 workers in turn (100; 6 with --short)',
  'minutes n': 'time limit (60)',
  'workers n': 'only with this number of workers',
};

export const parameters = { workers: { type: 'string' } };

const app = fileURLToPath(new URL('app.mjs', import.meta.url));
const WORKERS = [2, 3, 4];
/** How long it may take until all clients and workers are there again, in ms. A stopped worker is killed after 10 s. */
const MAX_RECOVERY_MS = 60_000;
/** After this time, a new worker has its copies of the sessions of others, and a changed buddy too, in ms. */
const COPIED_MS = 400;
/** Faults that take seconds occur in one of so many turns, and not in the short form. */
const RARELY = 6;

/** @throws UsageError */
export function check(values) {
  numberOption(values, 'workers');
  rejectUnknown('value of --workers', values.workers === undefined ? [] : [values.workers], WORKERS.map(String));
}

export async function run({ short, seed, times = short ? 6 : 100, minutes = 60, own = {} }) {
  const chosen = numberOption(own, 'workers');
  const counts = chosen === undefined ? WORKERS : [chosen];
  const end = Date.now() + minutes * 60_000;
  const random = randomFrom(seed);
  const figures = [];
  for (const [at, workers] of counts.entries()) {
    const share = Math.floor(times / counts.length) + (at < times % counts.length ? 1 : 0);
    figures.push(...(await runOn(workers, { short, times: share, end, random })));
  }
  return figures;
}

async function runOn(workers, { short, times, end, random }) {
  const hosted = await Hosted.start({ app, workers, environment: { DRAIN_TIMEOUT: '1s', RELOAD_SETTLE: '1s' } });
  const done = new Map();
  let missing = 0;
  let attempts = 'none';
  let listeners;
  let announcer;
  try {
    listeners = new Listeners(hosted.url, short ? 12 : 40);
    if (!(await listeners.untilConnected(MAX_RECOVERY_MS))) throw new Error('not all clients connect');
    announcer = new Announcer((number) => `${hosted.url}/?number=${number}`, short ? 50 : 20);
    // socket.io-client names its session only once it has received an event.
    await until(() => listeners.haveHeard, 'not all clients receive events');
    await sleep(COPIED_MS);
    for (let turn = 0; turn < times && Date.now() < end; turn++) {
      const name = nextFault(turn, { workers, short, random });
      progress(`${workers} workers: ${turn + 1} of ${times}: ${name}`);
      listeners.fault = name;
      const fault = faults[name](hosted, random);
      announcer.isPaused = false;
      await fault;
      await untilAllWork(hosted, workers);
      if (!(await listeners.untilConnected(MAX_RECOVERY_MS))) missing += listeners.disconnected;
      // Sessions to which nothing happens must be copied, too.
      announcer.isPaused = turn % 3 !== 0;
      await sleep(COPIED_MS + random() * 500);
      done.set(name, (done.get(name) ?? 0) + 1);
    }
    await announcer.stop();
    await listeners.finish(announcer.confirmed);
    attempts = await failedAttempts(hosted);
  } finally {
    progress('');
    await hosted.stop();
  }
  const named = (name, value, rest) => ({ name: `${workers} workers: ${name}`, value, ...rest });
  return [
    named('faults', [...done].map(([name, count]) => `${count} × ${name}`).join(', ') || 'none'),
    named('returns of clients', listeners.reconnects, { least: times > 0 ? 1 : 0 }),
    named('returns with a new session', listeners.reconnects - listeners.recovered, { most: 0 }),
    named(
      'new sessions after',
      [...listeners.forgottenAfter].map(([name, count]) => `${count} × ${name}`).join(', ') || 'no fault',
    ),
    named('failed recoveries on workers that live', attempts),
    named('clients that did not return', missing, { most: 0 }),
    named('confirmed events', announcer.confirmed.size, { least: 1 }),
    named('events without an answer', announcer.unconfirmed.size),
    named('deliveries', listeners.deliveries),
    named('lost', listeners.lost(announcer.confirmed), { most: 0 }),
    named('repeated', listeners.repeated, { most: 0 }),
    named('out of order', listeners.outOfOrder, { most: 0 }),
  ];
}

/** Half of all deaths are those of the oldest worker: the survivor of the deaths before. */
const faults = {
  'oldest killed': async (hosted) => end((await byAge(hosted))[0], 'SIGKILL', hosted),
  'newest killed': async (hosted) => end((await byAge(hosted)).at(-1), 'SIGKILL', hosted),
  'some worker crashed': async (hosted, random) => {
    const workers = await byAge(hosted);
    return end(workers[Math.floor(random() * workers.length)], 'SIGUSR2', hosted);
  },
  'buddy and then worker killed': async (hosted, random) => {
    const workers = await byAge(hosted);
    const at = Math.floor(random() * workers.length);
    await end(workers[(at + 1) % workers.length], 'SIGKILL', hosted);
    await sleep(COPIED_MS + random() * 300);
    await end(workers[at], 'SIGKILL', hosted);
  },
  'replacement killed as it starts': async (hosted, random) => {
    const before = childrenOf(hosted.primary);
    await end((await byAge(hosted))[0], 'SIGKILL', hosted);
    const replacement = await appeared(hosted, before);
    await sleep(random() * 1000);
    process.kill(replacement, 'SIGKILL');
    await until(() => !childrenOf(hosted.primary).includes(replacement), 'the replacement does not end');
  },
  reloaded: (hosted) => hosted.reload(),
  'stopped for a while': async (hosted, random) => {
    const [{ pid }] = await byAge(hosted);
    process.kill(pid, 'SIGSTOP');
    await sleep(500 + random() * 2000);
    process.kill(pid, 'SIGCONT');
  },
  'stopped for good': async (hosted) => end((await byAge(hosted))[0], 'SIGSTOP', hosted),
};

function nextFault(turn, { workers, short, random }) {
  if (turn % 2 === 0) return 'oldest killed';
  const quick = ['newest killed', 'some worker crashed', 'replacement killed as it starts', 'reloaded'];
  // With two workers, the second death would take the only copies.
  if (workers > 2) quick.push('buddy and then worker killed');
  const isRare = !short && turn % RARELY === RARELY - 1;
  const names = isRare ? ['stopped for a while', 'stopped for good'] : quick;
  return names[Math.floor(random() * names.length)];
}

/** How recoveries have failed, by the metrics of the workers. */
async function failedAttempts(hosted) {
  const text = await (await fetch(`${hosted.admin}/metrics`)).text();
  const counts = new Map();
  for (const [, outcome, count] of text.matchAll(/^gjallar_recovery_attempts_total{.*result="([^"]+)".*} (\d+)$/gm)) {
    if (outcome !== 'recovered' && count !== '0') counts.set(outcome, (counts.get(outcome) ?? 0) + Number(count));
  }
  return [...counts].map(([outcome, count]) => `${count} × ${outcome}`).join(', ') || 'none';
}

async function byAge(hosted) {
  return (await hosted.workers()).sort((one, other) => one.id - other.id);
}

/** Resolves when the worker is gone. */
async function end({ pid }, signal, hosted) {
  process.kill(pid, signal);
  await untilWorkers(hosted, (workers) => !workers.some((one) => one.pid === pid), 'a worker does not end');
}

/** Resolves with the process id of a worker that was not there before. */
async function appeared(hosted, before) {
  const fresh = () => childrenOf(hosted.primary).find((pid) => !before.includes(pid));
  await until(() => fresh() !== undefined, 'a worker is not replaced');
  return fresh();
}

function untilAllWork(hosted, count) {
  return untilWorkers(hosted, (workers) => workers.length === count, 'not all workers are replaced');
}

/** Asks for the workers not too often: each answer takes all of them some time. */
function untilWorkers(hosted, isSo, otherwise) {
  return until(async () => isSo(await hosted.workers()), otherwise, MAX_RECOVERY_MS, 100);
}
