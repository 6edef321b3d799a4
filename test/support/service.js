import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { own } from './children.js';
import { Lines } from './lines.js';

/** What `npm start` runs. It is there once it was built. */
export const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Turns off what protects the service from a single client, for clients that do the work of thousands. */
export const WITHOUT_LIMITS = { RATE_LIMIT: 'off', MAX_CONNECTIONS_PER_IP: '0', MAX_BUFFERED: '0' };

/** A free port of the loopback interface. */
export const ON_LOOPBACK = { HOST: '127.0.0.1', PORT: '0' };

/**
 * The environment without what would configure the server by accident, or make it part of the test runner. The sockets are
 * those of the test.
 * @returns {Record<string, string>}
 */
export function cleanEnvironment() {
  const { PATH = '', HOME = '', TMPDIR = '/tmp', GJALLAR_SOCKETS } = process.env;
  return { PATH, HOME, TMPDIR, ...(GJALLAR_SOCKETS && { GJALLAR_SOCKETS }) };
}

/**
 * The scheme and the ports in the line in which a server says that it has started: gjallar, or one that it is compared with.
 * @param {string} text
 * @returns {{ scheme: string, ports: number[] } | undefined} undefined for any other line
 */
function startIn(text) {
  const [hosted, shared = ''] = /^gjallar: .+ (?:runs|listens on port ([\d, ]+)) with /.exec(text) ?? [];
  if (hosted) return { scheme: 'http', ports: shared.split(', ').filter(Boolean).map(Number) };
  const [, scheme, port] = /^[\w. ]+ listens on (https?):\/\/\S+:(\d+)(?: |$)/.exec(text) ?? [];
  return scheme ? { scheme, ports: [Number(port)] } : undefined;
}

/** @typedef {Record<string, unknown> & { msg?: string }} LogLine what a server wrote to its log, as an object */

/**
 * @typedef {object} ServiceOptions
 * @property {Record<string, string | undefined>} env
 * @property {string[]} [nodeOptions] of the primary and the workers
 * @property {string} [main] what Node.js runs: the program of another version, for instance
 * @property {string[]} [args] of that program
 * @property {readonly string[]} [through] a command that runs the rest of its arguments, and passes SIGTERM on
 * @property {boolean} [hasChannel] whether it has a channel for messages to this process
 * @property {(line: string, stream: 'stdout' | 'stderr', entry?: LogLine) => unknown} [onLine] gets all that it prints; `entry` is a
 *   line of the log
 * @property {(child: import('node:child_process').ChildProcess) => unknown} [onSpawn] is called before it has started. By default,
 *   the process ends with this one
 */

/**
 * The service, or an application under `gjallar run`, or a server that these are compared with: a process with an empty folder
 * for its data, which goes with it.
 */
export class RunningService {
  /** @type {import('node:child_process').ChildProcess} the primary's process */
  process;
  /** The message that the start ends with. */
  greeting = '';
  /** @type {number[]} */
  ports = [];
  url = '';
  /** Its temporary folder. */
  data = mkdtempSync(join(tmpdir(), 'gjallar-test-'));
  /** @type {Lines<LogLine>} */
  #log = new Lines();
  /** @type {Lines<string>} */
  #output = new Lines();
  #errors = '';
  #options;

  /** @param {ServiceOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /** @returns {number} the first port that it listens on */
  get port() {
    return this.ports[0];
  }

  get log() {
    return this.#log.all;
  }

  /** All lines of the standard output that are no log lines, and those of the standard error. */
  get output() {
    return this.#output.all;
  }

  /**
   * Resolves with the first log line, past or to come, that fits.
   * @param {(line: LogLine) => boolean} fits
   */
  logged(fits, from = 0) {
    return this.#log.first(fits, from);
  }

  /** The same of its other lines. @param {RegExp} pattern */
  said(pattern) {
    return this.#output.first((line) => pattern.test(line));
  }

  /**
   * The process id of a worker of the chat service, which it logs when it listens.
   * @param {number} worker
   * @returns {Promise<number>}
   */
  async pidOfWorker(worker) {
    return (await this.logged((line) => line.msg === 'listening' && line.worker === worker)).pid;
  }

  /** Resolves once it has started. @throws Error if it ends before */
  async start() {
    const { env, nodeOptions = [], main = program, args = [], through = [], hasChannel, onSpawn = own } = this.#options;
    const [command, ...rest] = [...through, process.execPath, ...nodeOptions, main, ...args];
    const child = this.spawn(command, rest, {
      env: { DATA_DIR: this.data, ...env, TMPDIR: env.TMPDIR ?? this.data, ...(this.port && { PORT: `${this.port}` }) },
      stdio: ['ignore', 'pipe', 'pipe', ...(hasChannel ? ['ipc'] : [])],
    });
    onSpawn(child);
    this.process = child;
    await new Promise((resolve, reject) => {
      const onClose = (code) => {
        rmSync(this.data, { recursive: true, force: true });
        reject(new Error(`the server ended with ${code}: ${this.#errors || this.output.at(-1)}`));
      };
      child.once('error', reject);
      child.once('close', onClose);
      this.read(child, (line, stream) => {
        if (!this.#hear(line, stream)) return;
        child.off('close', onClose);
        resolve();
      });
    });
    return this;
  }

  /** @param {string} command @param {string[]} args @param {import('node:child_process').SpawnOptions} options */
  spawn(command, args, options) {
    return spawn(command, args, options);
  }

  /**
   * Hands over all lines that the process prints.
   * @param {import('node:child_process').ChildProcess} child
   * @param {(line: string, stream: 'stdout' | 'stderr') => unknown} hear
   */
  read(child, hear) {
    for (const stream of ['stdout', 'stderr']) createInterface(child[stream]).on('line', (line) => hear(line, stream));
  }

  /**
   * Notes a line. Returns whether it is the one in which the server says that it has started.
   * @param {string} line @param {'stdout' | 'stderr'} stream
   */
  #hear(line, stream) {
    const entry = line.startsWith('{"level"') ? JSON.parse(line) : undefined;
    if (stream === 'stderr') this.#errors += `${line}\n`;
    const text = entry?.msg ?? line;
    const found = stream === 'stdout' ? startIn(text) : undefined;
    if (found) {
      this.greeting = text;
      this.ports = found.ports;
      this.url = `${found.scheme}://127.0.0.1:${this.port}`;
    }
    this.#options.onLine?.(line, stream, entry);
    if (entry) this.#log.add(entry);
    else this.#output.add(line);
    return found !== undefined;
  }

  /** Ends it in order, where it has not ended. Resolves with its exit code once its folder is gone, too. */
  async stop() {
    const code = await this.#end();
    rmSync(this.data, { recursive: true, force: true });
    return code;
  }

  /** Ends it in order and starts it again, on the same port and with the same data. */
  async restart() {
    await this.#end();
    await this.start();
  }

  /** Reloads the workers. Resolves with the log line that the reload ends with. */
  reload() {
    const from = this.log.length;
    this.process.kill('SIGHUP');
    return this.logged(({ msg = '' }) => /^reload (finished|aborted)/.test(msg), from);
  }

  /** @returns {Promise<number | null>} */
  async #end() {
    const { process: child } = this;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    // Its exit may be noticed before the last lines of its log are read.
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    return (await closed)[0];
  }
}
