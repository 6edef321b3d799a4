import { spawn } from 'node:child_process';
import { nodeOn } from './cores.js';

const running = new Set();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

/** A child process that answers orders: see `generator/process.js` and `peers/control.js` for the other end. */
export class Child {
  #answers = new Map();
  #nextId = 0;
  #process;

  /**
   * Starts `args` on a core and waits until it says `{ ready: true, … }`.
   * @param {number | null} core
   * @param {string[]} args of Node
   */
  static async start(core, args) {
    const child = new Child(core, args);
    child.hello = await within(20_000, child.#wait(-1), 'did not become ready');
    return child;
  }

  constructor(core, args) {
    const [command, ...rest] = nodeOn(core, args);
    this.core = core;
    this.#process = spawn(command, rest, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, NODE_ENV: 'production' },
    });
    running.add(this.#process);
    this.#process.on('message', (message) => this.#answer(message.id ?? -1, message));
    this.#process.on('error', (error) => this.#failAll(error));
    this.#process.on('exit', (code, signal) => {
      running.delete(this.#process);
      this.#failAll(new Error(`process ${args.join(' ')} ended: ${signal ?? `exit code ${code}`}`));
    });
  }

  // taskset replaces itself with Node, so this is Node's own id either way.
  get pid() {
    return this.#process.pid;
  }

  /** @returns {Promise<any>} the result of the order */
  order(order, options = {}, timeout = 120_000) {
    const id = this.#nextId++;
    const answer = this.#wait(id);
    this.#process.send({ id, order, options });
    return within(timeout, answer, `did not answer "${order}"`).then(({ result }) => result);
  }

  /**
   * Ends the process. Neither a peer nor a generator holds anything worth a farewell, unless it is profiled: then it
   * ends by itself, as its channel closes, and writes its profile.
   */
  async stop({ gently = false } = {}) {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = new Promise((resolve) => this.#process.once('exit', resolve));
    if (gently) this.#process.disconnect();
    else this.#process.kill('SIGKILL');
    await exited;
  }

  #wait(id) {
    const answer = new Promise((resolve, reject) => this.#answers.set(id, { resolve, reject }));
    // An answer that nobody waits for any more, because its order timed out, must not end the harness.
    answer.catch(() => {});
    return answer;
  }

  #answer(id, message) {
    const waiting = this.#answers.get(id);
    this.#answers.delete(id);
    if (message.error) waiting?.reject(new Error(message.error));
    else waiting?.resolve(message);
  }

  #failAll(error) {
    for (const { reject } of this.#answers.values()) reject(error);
    this.#answers.clear();
  }
}

/** Rejects when `promise` takes longer than `ms`. */
export function within(ms, promise, complaint) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${complaint} within ${ms / 1000} s`)), ms);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}
