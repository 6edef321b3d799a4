import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from '../../../../../load/harness/process/child.js';
import { soon } from '../../../../../load/harness/until.js';

const programOf = (name) => ['--no-warnings', fileURLToPath(new URL(`${name}.mjs`, import.meta.url))];
const MAX_START_MS = 60_000;
/** How long a process may still be there whose channel is closed, in ms. */
const MAX_END_MS = 1000;

/** A machine: processes of workers that share the state room `quotes`, and that of their hub. */
export class Machine {
  #started = [];
  #directory = mkdtempSync(join(tmpdir(), 'gjallar-state-'));
  #hub;

  /** @returns {Worker[]} */
  get workers() {
    return this.#started.filter(({ hasEnded }) => !hasEnded);
  }

  /** The ids of the workers, as arguments. */
  get #ids() {
    return this.workers.map(({ id }) => `${id}`);
  }

  /** Starts a worker, which has the state of the others when this resolves. @returns {Promise<Worker>} */
  async start() {
    const id = this.#started.length + 1;
    const args = [this.#directory, `${id}`, '0', ...this.#ids];
    const worker = await Worker.start(null, [...programOf('worker'), ...args], { patience: MAX_START_MS });
    this.#started.push(Object.assign(worker, { id, url: worker.hello.url }));
    return worker;
  }

  /** Starts the hub, which links with the workers that are there. */
  async startHub() {
    rmSync(join(this.#directory, '0.sock'), { force: true });
    this.#hub = await Child.start(null, [...programOf('hub'), this.#directory, ...this.#ids], {
      patience: MAX_START_MS,
    });
  }

  async killHub() {
    await this.#hub?.stop();
    this.#hub = undefined;
  }

  async remove() {
    await Promise.all(this.workers.map((worker) => worker.stop()));
    await this.killHub();
    rmSync(this.#directory, { recursive: true, force: true });
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
