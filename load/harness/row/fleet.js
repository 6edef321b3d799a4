import { fileURLToPath } from 'node:url';
import { Histogram } from '../../generator/histogram.js';
import { Child } from '../process/child.js';
import { generatorCore } from '../process/cores.js';
import { HOST } from './peer.js';

// A process may be limited to 20,000 descriptors.
const CLIENTS_PER_PROCESS = 18_000;

const program = fileURLToPath(new URL('../../generator/process.js', import.meta.url));

/** All generator processes of a row. */
export class Fleet {
  groups = [];
  #processes = 0;

  /** @param {import('./peer.js').Peer} peer the server under test */
  constructor(peer) {
    this.peer = peer;
  }

  /** Starts the processes for `count` clients that will play one role. They are not connected yet. */
  async group(count) {
    const group = new Group(this.peer, count);
    this.groups.push(group);
    await group.start(Math.ceil(count / CLIENTS_PER_PROCESS), this.#processes, [program]);
    this.#processes += group.processes.length;
    return group;
  }

  /** What every group has seen so far. */
  look() {
    return Promise.all(this.groups.map((group) => group.look()));
  }

  async stop() {
    await Promise.all(this.groups.map((group) => group.stop()));
  }
}

/** Clients that play one role, divided among processes. */
export class Group {
  processes = [];

  constructor(peer, size) {
    this.peer = peer;
    this.size = size;
  }

  /** Starts so many processes, of which the first is the generator of this number. */
  async start(count, first, args, options) {
    for (let i = 0; i < count; i++) {
      this.processes.push(await Child.start(generatorCore(first + i, this.peer.cores), args, options));
    }
  }

  /** How many of `count` clients each process gets, and the number of the first of them. */
  shares(count = this.size) {
    const start = (i) => Math.floor((count * i) / this.processes.length);
    return this.processes.map((_, i) => ({ count: start(i + 1) - start(i), first: start(i) }));
  }

  /** Gives all processes an order. */
  order(name, options, timeout) {
    const of = typeof options === 'function' ? options : () => options;
    return Promise.all(this.processes.map((child, i) => child.order(name, of(i), timeout)));
  }

  /**
   * Connects `count` clients more (all by default), divided among the processes.
   * @param {number} [count]
   * @param {{ inFlight?: number, named?: boolean, readSize?: number, onPolling?: boolean }} [options] handshakes at a time,
   *   per process; whether the clients have names, see `nameOf` in `generator/roles.js`; how many bytes they read at once at most;
   *   whether they start on polling, and upgrade
   */
  open(count, { inFlight = 100, named = false, readSize, onPolling = false } = {}) {
    const { ports } = this.peer;
    const shares = this.shares(count).map(({ count: own, first }) => ({
      count: own,
      firstName: named ? first : undefined,
    }));
    return this.order('open', (i) => ({ host: HOST, ports, inFlight, readSize, onPolling, ...shares[i] }));
  }

  join(room) {
    return this.order('join', { room });
  }

  /** All clients join rooms of `members` each; only for groups of one process. */
  joinRooms(members) {
    return this.order('joinRooms', { members });
  }

  /** Begins to play a role of `generator/roles.js`. Rates are for the whole group. */
  begin(name, { perSecond, ...options }) {
    const rate = perSecond === undefined ? {} : { perSecond: perSecond / this.processes.length };
    return this.order('begin', { name, ...options, ...rate });
  }

  async look() {
    const seen = await this.order('look', {}, 60_000);
    return seen.map((one, i) => ({ core: this.processes[i].core, ...one }));
  }

  /** A counter of all clients so far. Unlike `look` it leaves what is measured as it is. */
  async count(counter) {
    const counts = await this.order('count', { counter });
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async stop() {
    await Promise.all(this.processes.map((child) => child.stop()));
  }
}

/** What a group did in a window with a look in its middle; `early` has the latencies of the first half. */
export function activityOf(before, middle, after) {
  const { latency: early } = activity(before, middle);
  const whole = activity(before, after);
  // Each look begins the latencies anew.
  whole.latency.add(early.toJSON());
  return { ...whole, early };
}

/** What a group did between two looks: events per second, and the latencies since the look before the second one. */
export function activity(before, after) {
  const perSecond = {};
  const total = {};
  const latency = new Histogram();
  after.forEach((seen, i) => {
    for (const [name, count] of Object.entries(seen.counters)) {
      const difference = count - before[i].counters[name];
      total[name] = (total[name] ?? 0) + difference;
      perSecond[name] = (perSecond[name] ?? 0) + (difference * 1000) / (seen.at - before[i].at);
    }
    latency.add(seen.latency);
  });
  return { perSecond, total, latency };
}
