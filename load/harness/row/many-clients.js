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
  /** @type {Child[]} */
  processes = [];

  /** @param {import('./peer.js').Peer} peer */
  static async start(peer, clients) {
    const program = await foreignProgram(new URL('../../generator/many/', import.meta.url));
    if (program.unavailable) throw new Error(program.unavailable);
    const many = new ManyClients();
    Object.assign(many, { peer, clients });
    for (let i = 0; i < clients / CLIENTS_PER_PROCESS; i++) {
      const core = generatorCore(i, peer.cores);
      many.processes.push(await Child.start(core, program.command, { foreign: true, ...program }));
    }
    return many;
  }

  get pids() {
    return this.processes.map(({ pid }) => pid);
  }

  /** How many clients the processes before this one hold. */
  #before(process) {
    return Math.floor((this.clients * process) / this.processes.length);
  }

  /**
   * Connects the clients, a few processes at a time, as long as `reserve` bytes of the machine's memory stay free.
   * @returns {Promise<{ connected: number, refused: number }>}
   */
  async open(reserve) {
    let connected = 0;
    let refused = 0;
    const empty = machineMemory().available;
    const orders = this.processes.map((_, source) => ({
      ...{ port: this.peer.port, count: this.#before(source + 1) - this.#before(source), source },
    }));
    for (let from = 0; from < orders.length; ) {
      const { available } = machineMemory();
      const each = Math.max(empty - available, 1) / Math.max(from, 1);
      if (available - each < reserve) break;
      // Where the system does not report its memory, there is no limit.
      const room = Math.floor((available - reserve) / each) || AT_A_TIME;
      const opening = orders
        .slice(from, from + Math.min(AT_A_TIME, room))
        .map((order) => this.processes[order.source].order('open', order, MAX_OPEN_MS));
      for (const opened of await Promise.all(opening)) {
        connected += opened.ready;
        refused += opened.refused;
      }
      from += opening.length;
    }
    return { connected, refused };
  }

  /** Every client sends its 30 characters once every so many ms. */
  talk(every) {
    return Promise.all(this.processes.map((child) => child.order('talk', { every })));
  }

  /** One client sends a message to all. */
  publish() {
    return this.processes[0].order('publish');
  }

  /** What each process has seen so far. */
  look() {
    return Promise.all(this.processes.map(async (child) => ({ core: child.core, ...(await child.order('look')) })));
  }

  async stop() {
    await Promise.all(this.processes.map((child) => child.stop()));
  }
}
