import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from '../../harness/process/child.js';
import { soon } from '../../harness/until.js';

const programOf = (name) => ['--no-warnings', fileURLToPath(new URL(`${name}.mjs`, import.meta.url))];
const MAX_START_MS = 60_000;
/** How long a process may still be there whose channel is closed, in ms. */
const MAX_END_MS = 1000;

/** Workers that share the state room `quotes`, with the hubs of their machines: two over a bus, or one without. */
export class Cluster {
  #started = [];
  #directories;
  #bus;
  #store;
  /** By machine. */
  #hubs = [];

  /**
   * @param {{ name: string, url: string | undefined }} bus what joins the workers
   * @param {string} [store] the URL of the Redis that the room is stored in
   */
  constructor(bus, store = '-') {
    this.#bus = bus;
    this.#store = store;
    this.#directories = (bus.url ? [0, 1] : [0]).map(() => mkdtempSync(join(tmpdir(), 'gjallar-state-')));
  }

  get machines() {
    return this.#directories.length;
  }

  /** @returns {Worker[]} */
  get workers() {
    return this.#started.filter(({ hasEnded }) => !hasEnded);
  }

  /** The ids of those of a machine, as arguments. */
  #idsOf(machine) {
    return this.workers.filter((worker) => worker.machine === machine).map(({ id }) => `${id}`);
  }

  /** Starts a worker, which has the state of the others when this resolves. @returns {Promise<Worker>} */
  async start(machine) {
    if (!this.#hubs[machine]) await this.startHub(machine);
    const id = this.#started.length + 1;
    const args = [this.#directories[machine], `${id}`, `machine${machine}`, this.#store, '0', ...this.#idsOf(machine)];
    const worker = await Worker.start(null, [...programOf('worker'), ...args], { patience: MAX_START_MS });
    this.#started.push(Object.assign(worker, { id, machine, url: worker.hello.url }));
    return worker;
  }

  /** Starts the hub of a machine, which links with the workers that are there. */
  async startHub(machine) {
    const { name, url = '-' } = this.#bus;
    const args = [this.#directories[machine], `machine${machine}`, name, url, ...this.#idsOf(machine)];
    rmSync(join(this.#directories[machine], '0.sock'), { force: true });
    this.#hubs[machine] = await Child.start(null, [...programOf('hub'), ...args], { patience: MAX_START_MS });
  }

  /** Kills the hub of a machine. The next worker that starts there, or `startHub()`, starts another one. */
  async killHub(machine) {
    const hub = this.#hubs[machine];
    this.#hubs[machine] = undefined;
    await hub?.stop();
  }

  async remove() {
    await Promise.all(this.workers.map((worker) => worker.stop()));
    await Promise.all(this.#hubs.map((_, machine) => this.killHub(machine)));
    for (const directory of this.#directories) rmSync(directory, { recursive: true, force: true });
  }
}

export class Worker extends Child {
  url = '';

  /** Has it do something with its room. Resolves with undefined if it ends before it has answered. */
  async call(name, ...args) {
    try {
      return await this.order(name, args);
    } catch (error) {
      if (!(await soon(() => this.hasEnded, MAX_END_MS))) throw error;
    }
  }

  async state() {
    return Object.fromEntries(await this.call('entries'));
  }

  /** `SIGSTOP` lets it run no more and notice nothing, `SIGCONT` go on. */
  signal(signal) {
    process.kill(this.pid, signal);
  }
}
