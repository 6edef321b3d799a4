import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { own } from '../../../test/support/children.js';
import { cleaningUp, counted, named, pick, randomFrom } from '../support/scenario.js';
import { BadReleases } from './faults.js';
import { kills, moves } from './moves.js';
import { figuresOf, trial } from './trial.js';

const DEFAULT = ['polling', 'websocket'];
const minutes = 'time limit (60)';
const endOf = (given = 60) => Date.now() + given * 60_000;

const WORKERS = [2, 3, 4];
/** Faults that take seconds occur in one of so many turns, and not in the short form. */
const RARELY = 6;

export const deaths = {
  about: 'workers that die again and again: sessions that clients do not get back, events lost or repeated',
  options: { times: 'number of faults, on 2, 3 and 4 workers in turn (100; 6 with --short)', minutes },
  async run({ short, seed, times: count = short ? 6 : 100, minutes: limit }) {
    const random = randomFrom(seed);
    const end = endOf(limit);
    const figures = [];
    for (const [at, workers] of WORKERS.entries()) {
      const share = Math.floor(count / WORKERS.length) + (at < count % WORKERS.length ? 1 : 0);
      if (share === 0) continue;
      const result = await trial({
        ...{ label: `${workers} workers`, workers, clients: short ? 12 : 40, interval: short ? 50 : 20, isOwn: true },
        environment: { RECOVERY: 'on', DRAIN_TIMEOUT: '1s', RELOAD_SETTLE: '1s' },
        ways: [['polling'], ['websocket'], ['websocket'], ['websocket']],
        clientOptions: { reconnectionDelay: 50, reconnectionDelayMax: 500 },
        ...{ nextFault: (turn) => nextDeath(turn, { short, random }), times: share, end, random },
      });
      figures.push(...named(`${workers} workers`, figuresOf(result, { recovers: true })));
    }
    return figures;
  },
};

/** Half of all deaths are those of the oldest worker: the survivor of the deaths before. */
function nextDeath(turn, { short, random }) {
  if (turn % 2 === 0) return 'oldest killed';
  const quick = [
    ...['newest killed', 'some worker crashed', 'replacement killed as it starts', 'reloaded'],
    'one worker killed and then another one',
  ];
  const isRare = !short && turn % RARELY === RARELY - 1;
  return pick(isRare ? ['stopped for a while', 'stopped for good'] : quick, random);
}

const MODES = ['off', 'on', 'moves', 'kills'];
/** How many clients must have returned: polling clients move if they can. */
const LEAST_RETURNS = { off: 1, on: 0 };

export const deploys = {
  about:
    'deploys under load, without recovery, with it, where clients move, and where a process is killed meanwhile: events lost, reconnects, requests on new connections that fail',
  isLong: true,
  options: {
    times: 'number of reloads in each part (20; 2 with --short)',
    minutes: 'time limit of each part (15)',
    clients:
      'number of clients; half of them upgrade, 40% begin with WebSocket, 10% stay on polling; where they move, 20% do (5,000)',
    recovery: { takes: 'off|on|moves|kills', of: MODES, about: 'only one of these parts' },
  },
  async run({ short, seed, times: count = short ? 2 : 20, minutes: limit = 15, own: given }) {
    const figures = [];
    for (const mode of given.recovery === undefined ? MODES : [given.recovery]) {
      // The full form has the default of RELOAD_SETTLE.
      const timing = short ? { DRAIN_TIMEOUT: '2s' } : { DRAIN_TIMEOUT: '10s', RELOAD_SETTLE: '5s' };
      const clients = given.clients ?? (short ? 50 : 5000);
      const common = { clients, times: count, end: endOf(limit), random: randomFrom(seed) };
      if (mode === 'moves' || mode === 'kills') {
        figures.push(...named(mode, await { moves, kills }[mode]({ short, ...common })));
        continue;
      }
      const result = await trial({
        ...{ label: `recovery ${mode}`, workers: 2, environment: { ...timing, RECOVERY: mode } },
        ...{ ...common, interval: short ? 50 : 500, nextFault: () => 'reloaded', probeMs: 5 },
        ways: [...Array(5).fill(DEFAULT), ...Array(4).fill(['websocket']), ['polling']],
      });
      // A session that a client did not use for long may be new, too: how many there were is what is to be seen.
      const all = [...figuresOf(result, { recovers: false }), ...reloadFigures(result)];
      const least = LEAST_RETURNS[mode];
      const figured = all.map((figure) => (figure.name === 'returns of clients' ? { ...figure, least } : figure));
      figures.push(...named(`recovery ${mode}`, figured));
    }
    return figures;
  },
};

function reloadFigures({ listeners, done, probes }) {
  const perReload = listeners.returns.length / listeners.clients.length / done.length;
  const sumOf = (numberOf) => probes.reduce((sum, probe) => sum + numberOf(probe), 0);
  const answered = sumOf(({ confirmed }) => confirmed.size);
  // Without net.ipv4.tcp_migrate_req, closing a listen socket resets the connections that wait in its queue.
  const migrates = readFileSync('/proc/sys/net/ipv4/tcp_migrate_req', 'utf8').trim();
  const most = migrates === '1' ? 0 : Math.ceil(answered / 1000);
  return [
    { name: 'reconnects per client and reload', value: Math.round(100 * perReload) / 100 },
    { name: 'net.ipv4.tcp_migrate_req', value: migrates },
    { name: 'requests on new connections', value: answered, least: 1 },
    { name: 'failed requests on new connections', value: sumOf(({ unconfirmed }) => unconfirmed.size), most },
  ];
}

/** One release in so many is a good one, and one hangs, which takes 10 s: not in the short form. */
const GOOD_EVERY = 5;
const HANGS_EVERY = 8;

export const releases = {
  about: 'releases that die late, crash or hang: reloads that must replace no worker',
  isLong: true,
  options: { times: 'number of releases, of which every fifth is a good one (125; 5 with --short)', minutes },
  run({ short, seed, times: count = short ? 5 : 125, minutes: limit }) {
    const nextFault = (turn) => {
      if (turn % GOOD_EVERY === GOOD_EVERY - 1) return 'reloaded';
      return !short && turn % HANGS_EVERY === HANGS_EVERY - 2 ? 'release that hangs' : 'bad release';
    };
    return cleaningUp(async (use) => {
      const bad = use(new BadReleases(), 'remove');
      const result = await trial({
        ...{ label: 'releases', workers: 2, environment: { DRAIN_TIMEOUT: '1s', ...bad.environment } },
        ...{ clients: short ? 8 : 30, ways: [DEFAULT], interval: short ? 50 : 20, faults: bad.faults },
        ...{ nextFault, times: count, end: endOf(limit), random: randomFrom(seed) },
      });
      const lost = result.listeners.returns.filter(({ fault }) => fault in bad.faults).length;
      return [
        ...figuresOf(result, { recovers: false }),
        { name: 'bad releases that replaced a worker, or were not reported', value: bad.wrong.length, most: 0 },
        ...bad.wrong.map((what) => ({ name: 'wrong', value: what })),
        { name: 'clients that a bad release disconnected', value: lost, most: 0 },
      ];
    });
  },
};

/** What 95% of the clients may wait beyond the delay of socket.io-client, in ms. */
const MAX_WAIT_MS = 2000;

export const returns = {
  about: 'clients on polling whose worker is killed: how long until they are back, and where the time goes',
  options: {
    times: 'number of kills (6; 2 with --short)',
    clients: 'clients, all on polling (60; 15 with --short)',
    busy: 'processes that compute meanwhile, so that the machine is busy (0)',
  },
  run({ short, seed, times: count = short ? 2 : 6, own: { clients = short ? 15 : 60, busy = 0 } }) {
    return cleaningUp(async (use) => {
      for (let started = 0; started < busy; started++) use(own(spawn(process.execPath, ['-e', 'for (;;);'])), 'kill');
      const { listeners, missing } = await trial({
        ...{
          label: 'returns',
          workers: 3,
          environment: { RECOVERY: 'on' },
          clients,
          ways: [['polling']],
          interval: 500,
        },
        ...{ nextFault: () => 'some worker killed', times: count, random: randomFrom(seed) },
      });
      const { returns: all, errors } = listeners;
      const row = (name, of, most) => spreadOf(name, all.map(of), most);
      return [
        { name: 'returns', value: all.length, least: 1 },
        { name: 'clients that did not return', value: missing, most: 0 },
        { name: 'attempts that failed', value: counted(errors) },
        ...row('kill to disconnect', ({ total, outage }) => total - outage),
        ...row("the client's first delay", ({ firstDelay }) => firstDelay),
        ...row('kill to connect', ({ total }) => total),
        ...row('kill to connect without the first delay', ({ total, firstDelay }) => total - firstDelay, MAX_WAIT_MS),
      ];
    });
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
