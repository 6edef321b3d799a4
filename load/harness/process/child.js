import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { commandOn } from './cores.js';

const running = new Set();
process.on('exit', () => {
  // Some have started processes of their own, and end those first.
  for (const child of running) child.kill('SIGTERM');
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

/** A child process that answers orders: see `generator/process.js` and `peers/support/control.js` for the other end. */
export class Child {
  #answers = new Map();
  #nextId = 0;
  #process;
  #send;
  #hangUp;

  /**
   * Starts `args` of Node on a core and waits until it says `{ ready: true, … }`.
   * @param {number | null} core
   * @param {string[]} args of Node, or, of a program that is not Node, the whole command line
   * @param {{ foreign?: boolean, cwd?: string, env?: Record<string, string>, patience?: number }} [options] `foreign`: not
   *   Node. What Node's IPC carries is then a line of JSON each, orders on the standard input, answers on the standard output.
   */
  static async start(core, args, options = {}) {
    const child = new Child(core, args, options);
    child.hello = await within(options.patience ?? 20_000, child.#wait(-1), 'did not become ready');
    return child;
  }

  constructor(core, args, { foreign = false, cwd, env } = {}) {
    const [command, ...rest] = commandOn(core, foreign ? args : [process.execPath, ...args]);
    this.core = core;
    this.#process = spawn(command, rest, {
      stdio: foreign ? ['pipe', 'pipe', 'inherit'] : ['ignore', 'inherit', 'inherit', 'ipc'],
      cwd,
      env: { ...process.env, ...env, NODE_ENV: 'production' },
    });
    running.add(this.#process);
    const hear = (message) => this.#answer(message.id ?? -1, message);
    if (foreign) this.#talkInLines(hear);
    else this.#talkOverIpc(hear);
    this.#process.on('error', (error) => this.#failAll(error));
    this.#process.on('exit', (code, signal) => {
      running.delete(this.#process);
      this.#failAll(new Error(`process ${args.join(' ')} ended: ${signal ?? `exit code ${code}`}`));
    });
  }

  #talkOverIpc(hear) {
    this.#send = (message) => this.#process.send(message);
    this.#hangUp = () => this.#process.disconnect();
    this.#process.on('message', hear);
  }

  #talkInLines(hear) {
    const { stdin, stdout } = this.#process;
    this.#send = (message) => stdin.write(`${JSON.stringify(message)}\n`);
    this.#hangUp = () => stdin.end();
    // A program that has ended is noticed by its exit.
    stdin.on('error', () => {});
    createInterface({ input: stdout }).on('line', (line) => hear(JSON.parse(line)));
  }

  // taskset replaces itself with the program, so this is the program's own id either way.
  get pid() {
    return this.#process.pid;
  }

  /** @returns {Promise<any>} the result of the order */
  order(order, options = {}, timeout = 120_000) {
    const id = this.#nextId++;
    const answer = this.#wait(id);
    this.#send({ id, order, options });
    return within(timeout, answer, `did not answer "${order}"`).then(({ result }) => result);
  }

  /**
   * Ends the process. Neither a peer nor a generator holds anything worth a farewell, unless it is profiled: then it
   * ends by itself, as its channel closes, and writes its profile.
   */
  async stop({ gently = false } = {}) {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = new Promise((resolve) => this.#process.once('exit', resolve));
    if (gently) this.#hangUp();
    else this.#process.kill('SIGKILL');
    await exited;
  }

  #wait(id) {
    const answer = new Promise((resolve, reject) => this.#answers.set(id, { resolve, reject }));
    // The rejection of an order that has already timed out must not end the harness.
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
