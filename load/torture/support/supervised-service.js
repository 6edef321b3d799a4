import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ON_LOOPBACK, RunningService, WITHOUT_LIMITS } from '../../../test/support/service.js';
import { childrenOf } from '../../harness/process/processes.js';
import { bareEnvironment } from './service.js';

const clock = fileURLToPath(new URL('clock.cjs', import.meta.url));

/** The service as a process manager runs it: one that ends is started again. Its log goes through a named pipe. */
export class SupervisedService extends RunningService {
  /** The file with how many ms the service's clock is ahead. */
  clock;
  #pipe;
  #launch;
  #hear;
  #reader;
  #isStopping = false;

  /**
   * @param {{ directory: string, environment: Record<string, string>, launch?: (command: string, args: string[],
   *   options: object) => import('node:child_process').ChildProcess }} options `launch` starts it on another host
   */
  constructor({ directory, environment, launch = spawn }) {
    const own = { ...ON_LOOPBACK, CLOCK: join(directory, 'clock') };
    const env = { ...bareEnvironment(), ...WITHOUT_LIMITS, ...own, ...environment };
    super({ env, nodeOptions: ['--require', clock] });
    this.clock = own.CLOCK;
    this.#pipe = join(directory, 'log');
    this.#launch = launch;
    execFileSync('mkfifo', [this.#pipe]);
  }

  spawn(command, args, options) {
    this.openLog();
    const output = openSync(this.#pipe, constants.O_WRONLY);
    const child = this.#launch(command, args, { ...options, stdio: ['ignore', output, 'inherit'] });
    closeSync(output);
    child.once('exit', () => {
      if (!this.#isStopping) setTimeout(() => this.#isStopping || this.start().catch(() => {}), 100);
    });
    return child;
  }

  read(_child, hear) {
    this.#hear = hear;
  }

  get pid() {
    return this.process.pid;
  }

  /** The process ids of the workers. */
  get workers() {
    return childrenOf(this.pid);
  }

  /** All processes of the service. */
  get processes() {
    return [this.pid, ...this.workers];
  }

  /** Resolves when a worker is there in the place of each of these. */
  async untilReplaced(pids, count) {
    while (this.workers.length !== count || this.workers.some((pid) => pids.includes(pid))) await sleep(20);
  }

  signal(signal) {
    process.kill(this.pid, signal);
  }

  /** Reads no more of the log, and fills the pipe, so that its writers block. @returns what goes on reading */
  blockLog() {
    const pipe = this.#open();
    this.closeLog();
    try {
      for (const size of [4096, 1]) for (;;) writeSync(pipe, `${' '.repeat(size - 1)}\n`);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
    return () => {
      this.openLog();
      closeSync(pipe);
    };
  }

  closeLog() {
    this.#reader?.destroy();
    this.#reader = undefined;
  }

  openLog() {
    if (this.#reader) return;
    this.#reader = new Socket({ fd: this.#open() });
    createInterface(this.#reader).on('line', (line) => this.#hear(line, 'stdout'));
  }

  /** One that also writes does not end with the other writers. */
  #open() {
    return openSync(this.#pipe, constants.O_RDWR | constants.O_NONBLOCK);
  }

  async stop() {
    this.#isStopping = true;
    this.openLog();
    const late = setTimeout(() => this.signal('SIGKILL'), 10_000);
    await super.stop();
    clearTimeout(late);
    this.closeLog();
  }
}
