import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { numberOption, rejectUnknown } from '../../harness/command.js';
import { own } from '../../harness/process/at-exit.js';
import { until } from '../../harness/until.js';
import { Hosted } from '../support/hosted.js';
import { progress, randomFrom, shuffled } from '../support/scenario.js';
import { faults, untilAllWork } from './faults.js';
import { figuresOf, Listeners, trial } from './trial.js';

const DEFAULT = ['polling', 'websocket'];
const times = (unit, count, short) => ({ 'times n': `number of ${unit} (${count}; ${short} with --short)` });
const minutes = { 'minutes n': 'time limit (60)' };
const named = (prefix, figures) => figures.map((figure) => ({ ...figure, name: `${prefix}: ${figure.name}` }));
const endOf = (given = 60) => Date.now() + given * 60_000;

/** Without recovery, clients talk to each other while their workers die, stop and reload. */
export const application = {
  about: 'an application under gjallar run: workers killed, stopped and reloaded under load',
  options: { ...times('faults', 60, 2), ...minutes },
  async run({ short, seed, times: count = short ? 2 : 60, minutes: limit }) {
    const random = randomFrom(seed);
    // A stopped worker is killed after 10 s, which takes too long for the short form.
    const names = ['some worker killed', 'reloaded', ...(short ? [] : ['stopped for good'])];
    const order = Array.from({ length: Math.ceil(count / names.length) }, () => shuffled(names, random)).flat();
    const result = await trial({
      ...{ label: 'application', workers: 3, environment: { DRAIN_TIMEOUT: short ? '1s' : '3s' } },
      ...{ clients: short ? 24 : 200, ways: [DEFAULT], interval: short ? 20 : 5, source: 'sockets' },
      ...{ nextFault: (turn) => order[turn], times: count, end: endOf(limit), random },
    });
    return [
      ...figuresOf(result, { recovers: false }),
      { name: 'fewest clients that a fault disconnected', value: result.fewest, least: 1 },
    ];
  },
};

const WORKERS = [2, 3, 4];
/** Faults that take seconds occur in one of so many turns, and not in the short form. */
const RARELY = 6;

export const deaths = {
  about: 'workers that die again and again: sessions that clients do not get back, events lost or repeated',
  options: {
    'times n': 'number of faults, on 2, 3 and 4 workers in turn (100; 6 with --short)',
    ...minutes,
    'workers n': 'only with this number of workers',
  },
  parameters: { workers: { type: 'string' } },
  check({ workers }) {
    rejectUnknown('value of --workers', workers === undefined ? [] : [workers], WORKERS.map(String));
  },
  async run({ short, seed, times: count = short ? 6 : 100, minutes: limit, own: given = {} }) {
    const counts = given.workers === undefined ? WORKERS : [Number(given.workers)];
    const random = randomFrom(seed);
    const end = endOf(limit);
    const figures = [];
    for (const [at, workers] of counts.entries()) {
      const share = Math.floor(count / counts.length) + (at < count % counts.length ? 1 : 0);
      if (share === 0) continue;
      const result = await trial({
        ...{ label: `${workers} workers`, workers, clients: short ? 12 : 40, interval: short ? 50 : 20, source: 'own' },
        environment: { RECOVERY: 'on', DRAIN_TIMEOUT: '1s', RELOAD_SETTLE: '1s' },
        ways: [['polling'], ['websocket'], ['websocket'], ['websocket']],
        clientOptions: { reconnectionDelay: 50, reconnectionDelayMax: 500 },
        ...{ nextFault: (turn) => nextDeath(turn, { workers, short, random }), times: share, end, random },
      });
      figures.push(...named(`${workers} workers`, figuresOf(result, { recovers: true })));
    }
    return figures;
  },
};

/** Half of all deaths are those of the oldest worker: the survivor of the deaths before. */
function nextDeath(turn, { workers, short, random }) {
  if (turn % 2 === 0) return 'oldest killed';
  const quick = ['newest killed', 'some worker crashed', 'replacement killed as it starts', 'reloaded'];
  // With two workers, the second death would take the only copies.
  if (workers > 2) quick.push('buddy and then worker killed');
  const isRare = !short && turn % RARELY === RARELY - 1;
  const names = isRare ? ['stopped for a while', 'stopped for good'] : quick;
  return names[Math.floor(random() * names.length)];
}

const MODES = ['off', 'on'];

export const deploys = {
  about: 'deploys under load, with connectionStateRecovery and without: events that clients lose, reconnects, pauses',
  isLong: true,
  options: {
    'times n': 'number of reloads in each part (20; 2 with --short)',
    'minutes n': 'time limit of each part (15)',
    'clients n': 'number of clients; half of them upgrade, 40% begin with WebSocket, 10% stay on polling (5,000)',
    'recovery off|on': 'only one of these parts',
  },
  parameters: { clients: { type: 'string' }, recovery: { type: 'string' } },
  check(values) {
    numberOption(values, 'clients');
    rejectUnknown('value of --recovery', values.recovery === undefined ? [] : [values.recovery], MODES);
  },
  async run({ short, seed, times: count = short ? 2 : 20, minutes: limit = 15, own: given = {} }) {
    const figures = [];
    for (const mode of given.recovery === undefined ? MODES : [given.recovery]) {
      // The full form has the default of RELOAD_SETTLE.
      const timing = short ? { DRAIN_TIMEOUT: '1s' } : { DRAIN_TIMEOUT: '10s', RELOAD_SETTLE: '5s' };
      const result = await trial({
        ...{ label: `recovery ${mode}`, workers: 2, environment: { RECOVERY: mode, ...timing } },
        ...{
          clients: numberOption(given, 'clients') ?? (short ? 50 : 5000),
          interval: short ? 50 : 500,
          source: 'http',
        },
        ways: [...Array(5).fill(DEFAULT), ...Array(4).fill(['websocket']), ['polling']],
        ...{ nextFault: () => 'reloaded', times: count, end: endOf(limit), random: randomFrom(seed) },
      });
      const { listeners, done } = result;
      const perReload = listeners.returns.length / listeners.size / (done.get('reloaded') ?? 1);
      figures.push(
        ...named(`recovery ${mode}`, [
          // A session that a client did not use for long may be new, too: how many there were is what is to be seen.
          ...figuresOf(result, { recovers: false }),
          { name: 'reconnects per client and reload', value: Math.round(100 * perReload) / 100 },
        ]),
      );
    }
    return figures;
  },
};

/** What 95% of the clients may wait beyond the delay of socket.io-client, in ms. */
const MAX_WAIT_MS = 2000;

export const returns = {
  about: 'clients on polling whose worker is killed: how long until they are back, and where the time goes',
  options: {
    ...times('kills', 6, 2),
    'clients n': 'clients, all on polling (60; 15 with --short)',
    'busy n': 'processes that compute meanwhile, so that the machine is busy (0)',
  },
  parameters: { clients: { type: 'string' }, busy: { type: 'string' } },
  check(values) {
    numberOption(values, 'clients');
    numberOption(values, 'busy');
  },
  async run({ short, seed, times: count = short ? 2 : 6, own: given = {} }) {
    const server = await Hosted.start({ workers: 3, environment: { RECOVERY: 'on' } });
    const busy = Array.from({ length: numberOption(given, 'busy') ?? 0 }, () =>
      own(spawn(process.execPath, ['-e', 'for (;;);'])),
    );
    const listeners = new Listeners();
    try {
      await listeners.open(server.url, numberOption(given, 'clients') ?? (short ? 15 : 60), [['polling']]);
      for (let turn = 0; turn < count; turn++) {
        progress(`kill ${turn + 1} of ${count}`);
        await untilAllWork(server, 3);
        listeners.mark();
        await faults['some worker killed'](server, randomFrom(seed + turn));
        // Those that have noticed nothing by then were on other workers.
        await sleep(1000);
        await until(() => listeners.disconnected === 0, 'not all clients return');
      }
    } finally {
      progress('');
      listeners.close();
      for (const child of busy) child.kill('SIGKILL');
      await server.stop();
    }
    const all = listeners.returns;
    const row = (name, of, most) => spreadOf(name, all.map(of), most);
    return [
      { name: 'returns', value: all.length, least: 1 },
      { name: 'first failures', value: counts(all.map(({ reason }) => reason)) },
      { name: 'attempts that failed', value: counts(all.flatMap(({ failures }) => failures)) },
      ...row('kill to disconnect', ({ total, outage }) => total - outage),
      ...row("the client's first delay", ({ firstDelay }) => firstDelay),
      ...row('kill to connect', ({ total }) => total),
      ...row('kill to connect without the first delay', ({ total, firstDelay }) => total - firstDelay, MAX_WAIT_MS),
    ];
  },
};

function spreadOf(name, values, most) {
  const sorted = values.sort((a, b) => a - b);
  const at = (share) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN);
  return [
    { name: `${name}: half within`, value: at(0.5), unit: 'ms' },
    { name: `${name}: 95% within`, value: at(0.95), unit: 'ms', most },
    { name: `${name}: longest`, value: at(1), unit: 'ms' },
  ];
}

function counts(texts) {
  const found = new Map();
  for (const text of texts) found.set(text, (found.get(text) ?? 0) + 1);
  return [...found].map(([text, count]) => `${count} × ${text}`).join(', ') || 'none';
}
