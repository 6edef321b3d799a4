import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { end, own } from '../../../test/support/children.js';
import { commandOn } from './cores.js';

/** A child process that answers orders: see `generator/process.js` and `peers/support/control.js` for the other end. */
export class Child {
  #answers = new Map();
  #nextId = 0;
  #process;
  #send;

  /**
   * Starts `args` of Node on a core and waits until it says `{ ready: true, … }`.
   * @param {number | string | null} core
   * @param {string[]} args of Node, or, of a program that is not Node, the whole command line
   * @param {{ foreign?: boolean, cwd?: string, env?: Record<string, string>, patience?: number }} [options] `foreign`: not
   *   Node. What Node's IPC carries is then a line of JSON each, orders on the standard input, answers on the standard output.
   */
  static async start(core, args, options = {}) {
    const child = new this(core, args, options);
    try {
      child.hello = await within(options.patience ?? 20_000, child.#wait(-1), 'did not become ready');
    } catch (error) {
      // One that was never started has not ended either.
      if (child.pid) await end(child.#process, 'SIGTERM');
      throw error;
    }
    return child;
  }

  constructor(core, args, { foreign = false, cwd, env } = {}) {
    const [command, ...rest] = commandOn(core, foreign ? args : [process.execPath, ...args]);
    this.core = core;
    const stdio = foreign ? ['pipe', 'pipe', 'inherit'] : ['ignore', 'inherit', 'inherit', 'ipc'];
    const child = spawn(command, rest, { stdio, cwd, env: { ...process.env, ...env, NODE_ENV: 'production' } });
    this.#process = own(child, 'SIGTERM');
    const hear = ({ id = -1, error, ...message }) => {
      const waiting = this.#answers.get(id);
      this.#answers.delete(id);
      if (error) waiting?.reject(new Error(error));
      else waiting?.resolve(message);
    };
    if (foreign) {
      createInterface({ input: child.stdout }).on('line', (line) => hear(JSON.parse(line)));
      // A program that has ended is noticed by its exit.
      child.stdin.on('error', () => {});
      this.#send = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
    } else {
      child.on('message', hear);
      this.#send = (message) => child.send(message);
    }
    child.on('error', (error) => this.#failAll(error));
    child.on('exit', (code, signal) => {
      this.#failAll(new Error(`process ${args.join(' ')} ended: ${signal ?? `exit code ${code}`}`));
    });
  }

  // taskset replaces itself with the program, so this is the program's own id either way.
  get pid() {
    return this.#process.pid;
  }

  get hasEnded() {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** @returns {Promise<any>} the result of the order */
  order(order, options = {}, timeout = 120_000) {
    const id = this.#nextId++;
    const answer = this.#wait(id);
    this.#send({ id, order, options });
    return within(timeout, answer, `did not answer "${order}"`).then(({ result }) => result);
  }

  /** Ends the process: with `gently`, by closing its channel, so that it ends what it has started, or writes its profile. */
  async stop({ gently = false } = {}) {
    if (gently && this.#process.connected) this.#process.disconnect();
    else if (gently) this.#process.stdin?.end();
    await end(this.#process, gently ? 0 : 'SIGKILL');
  }

  #wait(id) {
    const answer = new Promise((resolve, reject) => this.#answers.set(id, { resolve, reject }));
    // The rejection of an order that has already timed out must not end the harness.
    answer.catch(() => {});
    return answer;
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
