import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { own } from '../../../test/support/children.js';
import { Lines } from '../../../test/support/lines.js';
import { descriptorsOf } from '../../harness/process/processes.js';
import { program, startService, WITHOUT_LIMITS } from '../../harness/service.js';

/**
 * What a service needs of the environment; what is set here for another does not hold for it. Reloads are quick where the
 * scenario does not set `RELOAD_SETTLE` itself.
 */
export function bareEnvironment() {
  const { PATH = '', HOME = '', TMPDIR = '/tmp' } = process.env;
  return { PATH, HOME, TMPDIR, RELOAD_SETTLE: '200ms' };
}

/**
 * How long a session on polling may stay whose client has vanished, in ms: its heartbeat finds out after 45 s, the interval
 * and what a client has for the answer.
 */
export const MAX_SESSION_REST_MS = 75_000;

/** The levels that say that something went wrong that should not. */
const BAD = new Set(['error', 'fatal']);

/** An application whose clients talk in one room. */
const rooms = fileURLToPath(new URL('../application/app.mjs', import.meta.url));

/** The chat service, or an application under `gjallar run`, on a port of its own on the loopback interface. */
export class Service {
  /** Log lines of level error or fatal, and whatever was written to the standard error. */
  complaints = [];
  /** The processes that are or were workers of the chat service, by worker. */
  pids = new Map();
  /** The log, where there is an admin port. */
  log = new Lines();
  #running;

  /**
   * Resolves when it listens, and its admin port too if the environment has `ADMIN_PORT`.
   * @param {object} options those of `startService`, beside these
   * @param {Record<string, string>} [options.environment]
   * @param {string} [options.app] an application that `gjallar run` runs
   */
  static async open({ environment = {}, app, ...options }) {
    const service = new Service();
    const hasAdmin = 'ADMIN_PORT' in environment;
    service.#running = await startService({
      env: { ...bareEnvironment(), ...environment },
      ...(app && { main: app, nodeOptions: [program, 'run'] }),
      ...options,
      onLine: (line, stream) => service.#hear(line, stream, hasAdmin),
      onSpawn: own,
    });
    if (hasAdmin) {
      const { port } = await service.log.first(({ msg }) => msg === 'the admin port is open');
      service.admin = `http://127.0.0.1:${port}`;
    }
    return service;
  }

  /**
   * The service as `npm start` runs it, with two workers.
   * @param {Record<string, string>} environment
   * @param {string[]} [nodeOptions] of the primary and the workers
   * @param {string} [main] the program of another version
   * @param {string[]} [args] of that program
   */
  static start(environment = {}, nodeOptions = [], main = undefined, args = []) {
    return Service.open({ environment: { WORKERS: '2', ...WITHOUT_LIMITS, ...environment }, nodeOptions, main, args });
  }

  /**
   * An application under `gjallar run`.
   * @param {{ workers: number, environment?: Record<string, string>, app?: string }} options
   */
  static host({ workers, environment = {}, app = rooms }) {
    const own = { ADMIN_PORT: '0', RATE_LIMIT: 'off', ...environment };
    return Service.open({ app, environment: own, args: ['--workers', String(workers)] });
  }

  #hear(line, stream, hasAdmin) {
    if (stream === 'stderr') {
      if (line.trim() !== '' && !HARMLESS.test(line)) this.complaints.push(line);
      return;
    }
    if (!line.startsWith('{"level"')) return;
    const entry = JSON.parse(line);
    if (entry.msg === 'listening') this.pids.set(entry.worker, entry.pid);
    if (BAD.has(entry.level)) this.complaints.push(line);
    if (hasAdmin) this.log.add(entry);
  }

  get url() {
    return this.#running.url;
  }

  get port() {
    return this.#running.port;
  }

  /** The primary's process id. */
  get primary() {
    return this.#running.pid;
  }

  /** The folder of its data. */
  get data() {
    return this.#running.data;
  }

  /** How many descriptors the workers of the chat service have open; one that is no more has none. */
  get descriptors() {
    return [...this.pids.values()].reduce((sum, pid) => sum + (descriptorsOf(pid) || 0), 0);
  }

  /** The workers that respond, each with its id and its process id. */
  async workers() {
    const { workers } = await (await fetch(`${this.admin}/api/stats`)).json();
    return workers.filter(({ pid }) => pid !== undefined);
  }

  /** What the admin port's /readyz has in `problems` and `warnings`; undefined if there is no answer. */
  async readiness() {
    try {
      const response = await fetch(`${this.admin}/readyz`, { signal: AbortSignal.timeout(3000) });
      const { problems, warnings } = await response.json();
      return { problems, warnings };
    } catch {
      return undefined;
    }
  }

  /** The sum of a metric over all workers. @param {RegExp} line matches a line, and captures its value */
  async metric(line) {
    const text = await (await fetch(`${this.admin ?? this.url}/metrics`, { headers: { Connection: 'close' } })).text();
    return [...text.matchAll(line)].reduce((sum, [, value]) => sum + Number(value), 0);
  }

  /** How many clients and rooms there are, as the workers tell each other. */
  async totals() {
    const response = await fetch(`${this.url}/api/stats`, { headers: { Connection: 'close' } });
    return (await response.json()).totals;
  }

  /** What the workers hold that have loaded fuzz/resources.js, summed. */
  async resources() {
    const sums = {};
    for (const pid of this.pids.values()) {
      const told = await text(connect(join(this.data, `resources-${pid}.sock`)));
      for (const [name, value] of Object.entries(JSON.parse(told))) sums[name] = (sums[name] ?? 0) + value;
    }
    return sums;
  }

  /** Reloads the workers. Resolves with the log line that the reload ends with. */
  reload() {
    const from = this.log.all.length;
    process.kill(this.primary, 'SIGHUP');
    return this.log.first(({ msg }) => /^reload (finished|aborted)/.test(msg), from);
  }

  /** Stops it in order. Resolves with its exit code. */
  stop() {
    return this.#running.stop();
  }
}

/** uWebSockets.js complains of a late upgrade where no other WebSocket is open; the upgrade is in order. */
const HARMLESS = /^Warning: uWS\.HttpResponse writes must be made from within a corked callback/;
