import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { own } from '../../../test/support/children.js';
import { childrenOf } from '../../harness/process/processes.js';
import { addressIn, program, WITHOUT_LIMITS } from '../../harness/service.js';
import { bareEnvironment } from './service.js';

const clock = fileURLToPath(new URL('clock.cjs', import.meta.url));

/** The service as a process manager runs it: one that ends is started again. Its log goes through a named pipe. */
export class SupervisedService {
  /** The last lines of the log. */
  log = [];
  #directory;
  #environment;
  #launch;
  #process;
  #reader;
  #rest = '';
  #isReading = true;
  #isStopping = false;
  #timer;

  /**
   * @param {{ directory: string, environment: Record<string, string>, launch?: (command: string, args: string[],
   *   options: object) => import('node:child_process').ChildProcess }} options `launch` starts it on another host
   */
  static async start({ directory, environment, launch = spawn }) {
    const service = new SupervisedService();
    service.#directory = directory;
    service.#environment = environment;
    service.#launch = launch;
    execFileSync('mkfifo', [service.#pipe]);
    service.#timer = setInterval(() => service.#read(), 20);
    service.#begin();
    while (!service.port) await sleep(20);
    return service;
  }

  /** The file with how many ms the service's clock is ahead. */
  get clock() {
    return join(this.#directory, 'clock');
  }

  get #pipe() {
    return join(this.#directory, 'log');
  }

  #begin() {
    this.openLog();
    const output = openSync(this.#pipe, constants.O_WRONLY);
    const basics = { HOST: '127.0.0.1', PORT: String(this.port ?? 0), CLOCK: this.clock };
    const env = { ...bareEnvironment(), ...WITHOUT_LIMITS, ...basics, ...this.#environment };
    this.#process = own(
      this.#launch(process.execPath, ['--require', clock, program], {
        env,
        stdio: ['ignore', output, 'inherit'],
      }),
    );
    closeSync(output);
    this.#process.once('exit', () => {
      if (!this.#isStopping) setTimeout(() => this.#isStopping || this.#begin(), 100);
    });
  }

  get pid() {
    return this.#process.pid;
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
        for (const line of lines) this.#onLine(line);
      }
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }

  #onLine(text) {
    this.port = addressIn(text)?.port ?? this.port;
    if (!text.startsWith('{"level":')) return;
    this.log.push(text);
    if (this.log.length > 200) this.log.shift();
  }

  async stop() {
    this.#isStopping = true;
    this.openLog();
    this.readLog(true);
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const exit = once(this.#process, 'exit');
      this.signal('SIGTERM');
      const timer = setTimeout(() => this.signal('SIGKILL'), 10_000);
      await exit;
      clearTimeout(timer);
    }
    clearInterval(this.#timer);
    this.closeLog();
  }
}
