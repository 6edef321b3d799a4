import { Child } from './child.js';
import { generatorCore } from './cores.js';
import { foreignProgram } from './foreign.js';
import { machineMemory } from './memory.js';

// A process may be limited to 20,000 descriptors.
const CLIENTS_PER_PROCESS = 19_500;
/** How many processes connect their clients at a time. */
const AT_A_TIME = 4;
const LONGEST_ORDER = 600_000;

/** Very many clients, in processes of `generator/many/many.c`, each with an address of its own. */
export class Crowd {
  #members = [];
  #sizes = [];

  /** @param {import('./peer.js').Peer} peer */
  static async start(peer, clients) {
    const program = await foreignProgram(new URL('../generator/many/', import.meta.url));
    if (program.unavailable) throw new Error(program.unavailable);
    const crowd = new Crowd();
    crowd.peer = peer;
    const processes = Math.ceil(clients / CLIENTS_PER_PROCESS);
    for (let i = 0; i < processes; i++) {
      crowd.#sizes.push(Math.floor((clients * (i + 1)) / processes) - Math.floor((clients * i) / processes));
      crowd.#members.push(
        await Child.start(generatorCore(i, peer.cores), program.command, { foreign: true, ...program }),
      );
    }
    return crowd;
  }

  get pids() {
    return this.#members.map(({ pid }) => pid);
  }

  /**
   * Connects the clients, some processes after the other, as long as `reserve` bytes of the machine's memory will be left.
   * @returns {Promise<{ connected: number, refused: number, isFull: boolean }>}
   */
  async open(reserve) {
    let connected = 0;
    let refused = 0;
    const empty = machineMemory().available;
    for (let from = 0; from < this.#members.length; ) {
      const { available } = machineMemory();
      const each = Math.max(empty - available, 1) / Math.max(from, 1);
      if (available - each < reserve) return { connected, refused, isFull: true };
      // Memory that nothing tells of is no limit.
      const room = Math.floor((available - reserve) / each) || AT_A_TIME;
      const opening = this.#members.slice(from, from + Math.min(AT_A_TIME, room)).map((child, i) => {
        const source = from + i;
        const options = { port: this.peer.port, count: this.#sizes[source], source };
        return child.order('open', options, LONGEST_ORDER);
      });
      for (const opened of await Promise.all(opening)) {
        connected += opened.ready;
        refused += opened.refused;
      }
      from += opening.length;
    }
    return { connected, refused, isFull: false };
  }

  /** Every client says its 30 characters once in so many ms. */
  talk(every) {
    return Promise.all(this.#members.map((child) => child.order('talk', { every })));
  }

  /** One client says something to everybody. */
  publish() {
    return this.#members[0].order('publish');
  }

  look() {
    return Promise.all(
      this.#members.map(async (child) => ({ core: child.core, ...(await child.order('look', {}, 60_000)) })),
    );
  }

  async stop() {
    await Promise.all(this.#members.map((child) => child.stop()));
  }
}
