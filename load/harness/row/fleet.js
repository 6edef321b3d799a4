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
  #groups = [];
  #processes = 0;

  /** @param {import('./peer.js').Peer} peer the server under test */
  constructor(peer) {
    this.peer = peer;
  }

  /** Starts the processes for `count` clients that will play one role. They are not connected yet. */
  async group(count) {
    const processes = Math.ceil(count / CLIENTS_PER_PROCESS);
    const group = new Group(this.peer, count);
    this.#groups.push(group);
    for (let i = 0; i < processes; i++) await group.add(this.#processes++);
    return group;
  }

  /** What every group has seen so far. */
  look() {
    return Promise.all(this.#groups.map((group) => group.look()));
  }

  get groups() {
    return this.#groups;
  }

  async stop() {
    await Promise.all(this.#groups.map((group) => group.stop()));
  }
}

class Group {
  #members = [];

  constructor(peer, size) {
    this.peer = peer;
    this.size = size;
  }

  async add(index) {
    this.#members.push(await Child.start(generatorCore(index, this.peer.cores), [program]));
  }

  /**
   * Connects `count` clients more (all by default), divided among the processes.
   * @param {number} [count]
   * @param {{ inFlight?: number, named?: boolean, readSize?: number }} [options] handshakes at a time, per process; whether
   *   the clients have names, see `nameOf` in `generator/roles.js`; how many bytes they read at once at most
   */
  open(count = this.size, { inFlight = 100, named = false, readSize } = {}) {
    const { ports } = this.peer;
    return this.#each(
      (child, share, first) =>
        child.order('open', {
          host: HOST,
          ports,
          count: share,
          inFlight,
          firstName: named ? first : undefined,
          readSize,
        }),
      count,
    );
  }

  join(room) {
    return this.#each((child) => child.order('join', { room }));
  }

  /** All clients join rooms of `members` each; only for groups of one process. */
  joinRooms(members) {
    return this.#each((child) => child.order('joinRooms', { members }));
  }

  /** Begins to play a role of `generator/roles.js`. Rates are for the whole group. */
  begin(name, { perSecond, ...options }) {
    const rate = perSecond === undefined ? {} : { perSecond: perSecond / this.#members.length };
    return this.#each((child) => child.order('begin', { name, ...options, ...rate }));
  }

  look() {
    return Promise.all(
      this.#members.map(async (child) => ({ core: child.core, ...(await child.order('look', {}, 20_000)) })),
    );
  }

  /** A counter of all clients so far. Unlike `look` it leaves what is measured as it is. */
  async count(counter) {
    const counts = await Promise.all(this.#members.map((child) => child.order('count', { counter })));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async stop() {
    await Promise.all(this.#members.map((child) => child.stop()));
  }

  #each(work, total = 0) {
    const { length } = this.#members;
    const start = (i) => Math.floor((total * i) / length);
    return Promise.all(this.#members.map((child, i) => work(child, start(i + 1) - start(i), start(i))));
  }
}

/** What a group did between two looks: events per second, and the latencies of that time. */
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
