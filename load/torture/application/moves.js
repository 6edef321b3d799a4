import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Child } from '../../harness/process/child.js';
import { childrenOf, cpuOf } from '../../harness/process/processes.js';
import { until } from '../../harness/until.js';
import { cleaningUp, counted, pick } from '../support/scenario.js';
import { MAX_RECOVERY_MS } from './faults.js';
import { figuresOf, trial } from './trial.js';

/** Four of five clients on WebSocket, the others on polling: no client may notice a reload. */
const MOVING = [...Array(4).fill(['websocket']), ['polling']];
/** Clients in a process of their own that say so much that each silence falls between two numbers. */
const WATCHERS = { ways: MOVING, count: 20, perSecond: 20 };
const MAX_SILENCE_MS = 50;
const SETTLE_MS = 3000;
const SAMPLE_MS = 250;

/** Reloads that move clients, without a fault. Resolves with figures. */
export function moves({ short, clients, times, end, random }) {
  return cleaningUp(async (use) => {
    const watch = new Watch(use(await Child.start(null, [fileURLToPath(new URL('watchers.js', import.meta.url))])));
    const environment = {
      RECOVERY: 'on',
      GJALLAR_SOCKETS: 'portable',
      RELOAD_SETTLE: `${SETTLE_MS}ms`,
      // The clients of a busy machine take their time, and none may be dismissed.
      DRAIN_TIMEOUT: '40s',
    };
    const result = await trial({
      ...{ label: 'moves', workers: 2, environment, clients, ways: MOVING, times, end, random },
      ...{ interval: short ? 50 : 5000, isOwn: short, talk: short ? 5 : 0.2 },
      ...{ nextFault: () => 'reloaded', faults: { reloaded: (server) => watch.reload(server) } },
    });
    const figures = figuresOf(result, { recovers: true });
    const noReturns = (figure) => (figure.name === 'returns of clients' ? { ...figure, least: 0, most: 0 } : figure);
    return [...figures.map(noReturns), ...watch.figuresOf(result, short ? undefined : MAX_SILENCE_MS)];
  });
}

/** Who is killed as clients move. */
const KILLED = ['old worker killed', 'new worker killed', 'primary killed'];

/** Reloads that move clients. In the middle of each, a process is killed. Resolves with figures. */
export async function kills({ short, clients, times, end, random }) {
  const result = await trial({
    ...{ label: 'kills', workers: 2, clients, ways: MOVING, times, end, random },
    environment: { RECOVERY: 'on', GJALLAR_SOCKETS: 'portable', DRAIN_TIMEOUT: '20s' },
    ...{ interval: short ? 100 : 500, isOwn: true, talk: short ? 2 : 0.5 },
    clientOptions: { reconnectionDelay: 100, reconnectionDelayMax: 1000 },
    nextFault: (turn) => KILLED[turn % KILLED.length],
    faults: Object.fromEntries(KILLED.map((name) => [name, kill(name)])),
  });
  const { listeners } = result;
  // All that is kept of a client ends with the primary. With another process, an answer to a poll may be lost that only it had.
  const anew = listeners.returns.filter(({ isSame, fault }) => !isSame && fault !== 'primary killed');
  const figures = figuresOf(result, { recovers: false });
  const other = {
    'returns with a new session': { value: anew.length },
    'new sessions after': { value: counted(anew.map(({ fault }) => fault)) },
  };
  return [
    ...figures.map((figure) => ({ ...figure, ...other[figure.name] })),
    { name: 'moved', value: listeners.moves, least: 1 },
    { name: 'numbers that came back out of turn', value: listeners.outOfTurn, most: 0 },
    { name: 'numbers that did not come back', value: listeners.unanswered, most: 0 },
  ];
}

/** Kills a process once so many clients have moved, as chance has it. */
const kill = (name) => async (server, random, listeners) => {
  const { primary } = server;
  const old = childrenOf(primary);
  const due = listeners.moves + 1 + Math.floor(random() * 0.8 * listeners.clients.length);
  const reloaded = server.reload().catch(() => {});
  await until(() => listeners.moves >= due, 'clients do not move', MAX_RECOVERY_MS, 1);
  const workers = childrenOf(primary);
  const victims = workers.filter((pid) => old.includes(pid) === (name === 'old worker killed'));
  process.kill(name === 'primary killed' ? primary : pick(victims, random), 'SIGKILL');
  if (name !== 'primary killed') return reloaded;
  await until(() => workers.every((pid) => Number.isNaN(cpuOf(pid))), 'workers outlive the primary');
  await server.start();
};

/** Looks at reloads: how long clients hear nothing, and what the processes use. */
class Watch {
  #child;
  #isOpen = false;
  #silences = [];
  #busiest = [];
  #generator = [];
  /** What the workers say at their ends. */
  #ends = [];
  /** What the watchers have had out of turn, and why they returned. */
  #watched = { outOfTurn: 0, returns: [] };

  constructor(child) {
    this.#child = child;
  }

  async reload(server) {
    const { url, primary } = server;
    if (!this.#isOpen) await this.#child.order('open', { url, ...WATCHERS });
    this.#isOpen = true;
    await this.#child.order('look');
    const from = server.log.length;
    const own = { at: performance.now(), cpu: cpuOf(process.pid) };
    let isOver = false;
    const reloaded = server.reload().finally(() => {
      isOver = true;
    });
    const samples = [];
    while (!isOver) samples.push(await sampled(childrenOf(primary)));
    const { msg } = await reloaded;
    if (msg !== 'reload finished') throw new Error(msg);
    this.#generator.push(shareOf(cpuOf(process.pid) - own.cpu, performance.now() - own.at));
    const ends = server.log.slice(from).filter((line) => line.msg === 'stopping');
    const began = Math.min(...ends.map(({ time, ms }) => Date.parse(time) - ms));
    const busy = samples.flatMap(({ at, shares }) => (at > began ? shares : []));
    this.#busiest.push(Math.max(...busy));
    this.#ends.push(...ends);
    // A wait that has begun in the reload ends after it.
    await sleep(1000);
    const { silences, ...watched } = await this.#child.order('look');
    this.#silences.push(...silences);
    this.#watched = watched;
  }

  /** Of the worker that was the slowest. */
  #silent(figure) {
    return Math.max(...this.#ends.map(({ silentMs }) => silentMs?.[figure] ?? 0));
  }

  figuresOf({ listeners }, maxSilence) {
    const sum = (field) => this.#ends.reduce((all, line) => all + Number(line[field]), 0);
    const sorted = this.#silences.sort((a, b) => a - b);
    const at = (share) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]);
    const ms = { unit: 'ms' };
    return [
      { name: 'moved', value: sum('moved'), least: 1 },
      { name: 'not moved', value: sum('failed'), most: 0 },
      {
        name: 'why clients returned',
        value: counted([...listeners.returns, ...this.#watched.returns].map(({ reason }) => reason)),
      },
      { name: 'numbers that came back out of turn', value: listeners.outOfTurn + this.#watched.outOfTurn, most: 0 },
      { name: 'numbers that did not come back', value: listeners.unanswered, most: 0 },
      { name: 'silence as a client moves: half within', value: at(0.5), ...ms },
      { name: 'silence as a client moves: 99% within', value: at(0.99), ...ms, most: maxSilence },
      { name: 'silence as a client moves: longest', value: at(1), ...ms },
      { name: 'silence of any client, as workers see it: 99% within', value: this.#silent('p99'), ...ms },
      { name: 'silence of any client, as workers see it: longest', value: this.#silent('longest'), ...ms },
      ...Object.entries(listeners.waits).flatMap(([transport, waits]) => [
        { name: `answers to clients on ${transport}: 99% within`, value: Math.round(waits.percentile(0.99)), ...ms },
        { name: `answers to clients on ${transport}: longest`, value: Math.round(waits.max), ...ms },
      ]),
      { name: 'moving all clients: longest', value: Math.max(...this.#ends.map((line) => line.ms)), ...ms },
      { name: 'busiest worker meanwhile', value: Math.round(Math.max(...this.#busiest)), unit: '% of a core' },
      { name: 'generator', value: Math.round(Math.max(...this.#generator)), unit: '% of a core' },
    ];
  }
}

const shareOf = (micros, ms) => micros / 10 / ms;

/** The shares of a core that processes use for a moment, in percent. */
async function sampled(pids) {
  const at = Date.now();
  const before = pids.map((pid) => [pid, cpuOf(pid), performance.now()]);
  await sleep(SAMPLE_MS);
  const shares = before.map(([pid, cpu, since]) => shareOf(cpuOf(pid) - cpu, performance.now() - since));
  return { at, shares: shares.filter((share) => !Number.isNaN(share)) };
}
