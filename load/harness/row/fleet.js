import { fileURLToPath } from 'node:url';
import { Histogram } from '../../generator/histogram.js';
import { Child } from '../process/child.js';
import { generatorCore } from '../process/cores.js';
import { HOST } from './peer.js';

const programOf = (name) => fileURLToPath(new URL(`../../generator/${name}.js`, import.meta.url));

/** All generator processes of a row. */
export class Fleet {
  groups = [];

  /** @param {import('./peer.js').Peer} peer the server under test */
  constructor(peer) {
    this.peer = peer;
  }

  /**
   * Starts the process for `size` clients that will play one role. They are not connected yet.
   * @param {number} size
   * @param {'process' | 'returning'} [program] a file of `generator/`
   */
  async group(size, program = 'process') {
    const child = await Child.start(generatorCore(this.groups.length, this.peer.cores), [programOf(program)]);
    const group = new Group(child, size, this.peer.ports);
    this.groups.push(group);
    return group;
  }

  /** What every group has seen so far. */
  look() {
    return Promise.all(this.groups.map((group) => group.look()));
  }

  async stop() {
    await Promise.all(this.groups.map(({ child }) => child.stop()));
  }
}

/** Clients that play one role, in a process of their own. */
class Group {
  constructor(child, size, ports) {
    Object.assign(this, { child, size, ports });
  }

  /**
   * Connects `count` clients more, all by default.
   * @param {number} [count]
   * @param {{ named?: boolean, readSize?: number, onPolling?: boolean }} [options] whether the clients have names, see `nameOf`
   *   in `generator/roles.js`; how many bytes they read at once at most; whether they start on polling, and upgrade
   */
  open(count = this.size, options = {}) {
    return this.order('open', { count, ...options });
  }

  /** An order of the program, which is told where the server is. */
  order(name, options) {
    return this.child.order(name, { host: HOST, ports: this.ports, ...options });
  }

  join(room) {
    return this.child.order('join', { room });
  }

  /** All clients join rooms of `members` each. */
  joinRooms(members) {
    return this.child.order('join', { members });
  }

  /** Begins to play a role of `generator/roles.js`. */
  begin(name, options) {
    return this.child.order('begin', { name, ...options });
  }

  /** @returns {Promise<object[]>} what each process has seen: there is one */
  async look() {
    return [{ core: this.child.core, ...(await this.child.order('look')) }];
  }

  /** A counter of all clients so far. Unlike `look` it leaves what is measured as it is. */
  count(counter) {
    return this.child.order('count', { counter });
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
function activity(before, after) {
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
