import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ON_LOOPBACK, RunningService, WITHOUT_LIMITS } from '../../../test/support/service.js';
import { childrenOf } from '../../harness/process/processes.js';
import { bareEnvironment } from './service.js';

const clock = fileURLToPath(new URL('clock.cjs', import.meta.url));

/** The service as a process manager runs it: one that ends is started again. Its log goes through a named pipe. */
export class SupervisedService extends RunningService {
  #directory;
  #launch;
  #hear;
  #reader;
  #rest = '';
  #isReading = true;
  #isStopping = false;
  #timer;

  /**
   * @param {{ directory: string, environment: Record<string, string>, launch?: (command: string, args: string[],
   *   options: object) => import('node:child_process').ChildProcess }} options `launch` starts it on another host
   */
  constructor({ directory, environment, launch = spawn }) {
    const own = { ...ON_LOOPBACK, CLOCK: join(directory, 'clock') };
    const env = { ...bareEnvironment(), ...WITHOUT_LIMITS, ...own, ...environment };
    super({ env, nodeOptions: ['--require', clock] });
    this.#directory = directory;
    this.#launch = launch;
    execFileSync('mkfifo', [this.#pipe]);
    this.#timer = setInterval(() => this.#read(), 20);
  }

  /** The file with how many ms the service's clock is ahead. */
  get clock() {
    return join(this.#directory, 'clock');
  }

  get #pipe() {
    return join(this.#directory, 'log');
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

  /** Reads the log, or lets it wait. */
  readLog(isReading) {
    this.#isReading = isReading;
  }

  /** Fills the pipe, so that its writers block. */
  fillLog() {
    const pipe = openSync(this.#pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    try {
      for (const size of [4096, 1]) for (;;) writeSync(pipe, `${' '.repeat(size - 1)}\n`);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    } finally {
      closeSync(pipe);
    }
  }

  closeLog() {
    closeSync(this.#reader);
    this.#reader = undefined;
  }

  openLog() {
    this.#reader ??= openSync(this.#pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  }

  #read() {
    if (this.#reader === undefined || !this.#isReading) return;
    const bytes = Buffer.alloc(65_536);
    try {
      for (let read; ; ) {
        read = readSync(this.#reader, bytes);
        if (read === 0) return;
        const lines = (this.#rest + bytes.subarray(0, read)).split('\n');
        this.#rest = lines.pop();
        for (const line of lines) this.#hear(line, 'stdout');
      }
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }

  async stop() {
    this.#isStopping = true;
    this.openLog();
    this.readLog(true);
    const late = setTimeout(() => this.signal('SIGKILL'), 10_000);
    await super.stop();
    clearTimeout(late);
    clearInterval(this.#timer);
    this.closeLog();
  }
}
