import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { end, own } from '../../../test/support/children.js';

const script = fileURLToPath(new URL('worker.mjs', import.meta.url));
const hubScript = fileURLToPath(new URL('hub.mjs', import.meta.url));

/** Workers that share the state room `quotes`, with the hubs of their machines: two over a bus, or one without. */
export class Cluster {
  /** @type {Worker[]} */
  workers = [];
  #directories;
  #bus;
  #store;
  #ids = 0;
  /** By machine. */
  #hubs = [];

  /**
   * @param {{ name: string, url: string | undefined }} bus what joins the workers
   * @param {string} [store] the URL of the Redis that the room is stored in
   */
  constructor(bus, store = undefined) {
    this.#bus = bus;
    this.#store = store;
    this.#directories = (bus.url ? [0, 1] : [0]).map(() => mkdtempSync(join(tmpdir(), 'gjallar-state-')));
  }

  get machines() {
    return this.#directories.length;
  }

  /** Starts a worker, which has the state of the others when this resolves. */
  async start(machine) {
    if (!this.#hubs[machine]) await this.startHub(machine);
    const id = ++this.#ids;
    const others = this.workers.filter((worker) => worker.machine === machine).map((worker) => `${worker.id}`);
    const args = [this.#directories[machine], `${id}`, `machine${machine}`, this.#store ?? '-', '0', ...others];
    const child = own(fork(script, args, { execArgv: ['--no-warnings'] }));
    child.setMaxListeners(0);
    const worker = new Worker(child, id, machine);
    child.once('exit', () => {
      this.workers = this.workers.filter((one) => one !== worker);
    });
    [{ url: worker.url }] = await once(child, 'message');
    this.workers.push(worker);
    return worker;
  }

  /** Starts the hub of a machine, which links with the workers that are there. */
  async startHub(machine) {
    const workers = this.workers.filter((worker) => worker.machine === machine).map(({ id }) => `${id}`);
    const { name, url = '-' } = this.#bus;
    const args = [this.#directories[machine], `machine${machine}`, name, url, ...workers];
    rmSync(join(this.#directories[machine], '0.sock'), { force: true });
    const hub = own(fork(hubScript, args, { execArgv: ['--no-warnings'] }));
    this.#hubs[machine] = hub;
    await once(hub, 'message');
  }

  /** Kills the hub of a machine. The next worker that starts there, or `startHub()`, starts another one. */
  async killHub(machine) {
    const hub = this.#hubs[machine];
    this.#hubs[machine] = undefined;
    if (hub) await end(hub);
  }

  async remove() {
    await Promise.all(this.workers.map((worker) => worker.kill()));
    await Promise.all(this.#hubs.map((_, machine) => this.killHub(machine)));
    for (const directory of this.#directories) rmSync(directory, { recursive: true, force: true });
  }
}

export class Worker {
  url = '';
  #child;
  #numbers = 0;

  constructor(child, id, machine) {
    this.#child = child;
    this.id = id;
    this.machine = machine;
  }

  /** Has it do something with its room. Resolves with undefined if it ends before it has answered. */
  call(name, ...args) {
    const child = this.#child;
    const number = ++this.#numbers;
    return new Promise((resolve, reject) => {
      const finish = (settle, value) => {
        child.off('message', onMessage);
        child.off('exit', onExit);
        settle(value);
      };
      const onExit = () => finish(resolve);
      const onMessage = ({ number: answered, result, error }) => {
        if (answered !== number) return;
        if (error) finish(reject, new Error(error));
        else finish(resolve, result);
      };
      child.on('message', onMessage);
      child.once('exit', onExit);
      if (child.connected) child.send({ number, name, args }, () => {});
      else onExit();
    });
  }

  async state() {
    return Object.fromEntries(await this.call('entries'));
  }

  /** `SIGSTOP` lets it run no more and notice nothing, `SIGCONT` go on. */
  signal(signal) {
    this.#child.kill(signal);
  }

  async kill() {
    await end(this.#child);
  }
}
