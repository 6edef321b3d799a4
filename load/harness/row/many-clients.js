import { Child } from '../process/child.js';
import { generatorCore } from '../process/cores.js';
import { foreignProgram } from '../process/foreign.js';
import { machineMemory } from './memory.js';

// A process may be limited to 20,000 descriptors.
const CLIENTS_PER_PROCESS = 19_500;
/** How many processes connect their clients at a time. */
const AT_A_TIME = 4;
const MAX_OPEN_MS = 600_000;

/** Hundreds of thousands of clients, in processes of `generator/many/many.c` with one source address each. */
export class ManyClients {
  #processes = [];
  #sizes = [];

  /** @param {import('./peer.js').Peer} peer */
  static async start(peer, clients) {
    const program = await foreignProgram(new URL('../../generator/many/', import.meta.url));
    if (program.unavailable) throw new Error(program.unavailable);
    const many = new ManyClients();
    many.peer = peer;
    const count = Math.ceil(clients / CLIENTS_PER_PROCESS);
    for (let i = 0; i < count; i++) {
      many.#sizes.push(Math.floor((clients * (i + 1)) / count) - Math.floor((clients * i) / count));
      many.#processes.push(
        await Child.start(generatorCore(i, peer.cores), program.command, { foreign: true, ...program }),
      );
    }
    return many;
  }

  get pids() {
    return this.#processes.map(({ pid }) => pid);
  }

  /**
   * Connects the clients, a few processes at a time, as long as `reserve` bytes of the machine's memory stay free.
   * @returns {Promise<{ connected: number, refused: number, isFull: boolean }>}
   */
  async open(reserve) {
    let connected = 0;
    let refused = 0;
    const empty = machineMemory().available;
    for (let from = 0; from < this.#processes.length; ) {
      const { available } = machineMemory();
      const each = Math.max(empty - available, 1) / Math.max(from, 1);
      if (available - each < reserve) return { connected, refused, isFull: true };
      // Where the system does not report its memory, there is no limit.
      const room = Math.floor((available - reserve) / each) || AT_A_TIME;
      const opening = this.#processes.slice(from, from + Math.min(AT_A_TIME, room)).map((child, i) => {
        const source = from + i;
        const options = { port: this.peer.port, count: this.#sizes[source], source };
        return child.order('open', options, MAX_OPEN_MS);
      });
      for (const opened of await Promise.all(opening)) {
        connected += opened.ready;
        refused += opened.refused;
      }
      from += opening.length;
    }
    return { connected, refused, isFull: false };
  }

  /** Every client sends its 30 characters once every so many ms. */
  talk(every) {
    return Promise.all(this.#processes.map((child) => child.order('talk', { every })));
  }

  /** One client sends a message to all. */
  publish() {
    return this.#processes[0].order('publish');
  }

  look() {
    return Promise.all(
      this.#processes.map(async (child) => ({ core: child.core, ...(await child.order('look', {}, 60_000)) })),
    );
  }

  async stop() {
    await Promise.all(this.#processes.map((child) => child.stop()));
  }
}
