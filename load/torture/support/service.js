import { connect } from 'node:net';
import { join } from 'node:path';
import { own } from '../../harness/at-exit.js';
import { descriptorsOf } from '../../harness/processes.js';
import { startService, WITHOUT_LIMITS } from '../../harness/service.js';

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

/** A service that `startService()` has started. */
export class RunningService {
  running;

  get url() {
    return this.running.url;
  }

  get port() {
    return this.running.port;
  }

  /** The primary's process id. */
  get primary() {
    return this.running.pid;
  }

  /** The folder of its data. */
  get data() {
    return this.running.data;
  }

  /** Stops it in order. Resolves with its exit code. */
  stop() {
    return this.running.stop();
  }
}

/** The service as `npm start` runs it, with a folder and a port of its own on the loopback interface. */
export class Service extends RunningService {
  /** Log lines of level error or fatal, and whatever was written to the standard error. */
  complaints = [];
  /** The processes that are or were workers, by worker. */
  pids = new Map();

  /**
   * @param {Record<string, string>} environment
   * @param {string[]} [nodeOptions] of the primary and the workers
   * @param {string} [main] the program of another version
   * @param {string[]} [args] of that program
   */
  static async start(environment = {}, nodeOptions = [], main = undefined, args = []) {
    const service = new Service();
    service.running = await startService({
      env: { ...bareEnvironment(), WORKERS: '2', ...WITHOUT_LIMITS, ...environment },
      ...{ nodeOptions, main, args },
      onLine: (line, stream) => service.#hear(line, stream),
      onSpawn: own,
    });
    return service;
  }

  #hear(line, stream) {
    if (stream === 'stderr') {
      if (line.trim() !== '' && !HARMLESS.test(line)) this.complaints.push(line);
      return;
    }
    if (!line.startsWith('{')) return;
    const { level, msg, worker, pid } = JSON.parse(line);
    if (msg === 'listening') this.pids.set(worker, pid);
    if (BAD.has(level)) this.complaints.push(line);
  }

  /** How many descriptors the workers have open; one that is no more has none. */
  get descriptors() {
    return [...this.pids.values()].reduce((sum, pid) => sum + (descriptorsOf(pid) || 0), 0);
  }

  /** How many clients and rooms there are, as the workers tell each other. */
  async totals() {
    const response = await fetch(`${this.url}/api/stats`, { headers: { Connection: 'close' } });
    return (await response.json()).totals;
  }

  /** What the workers hold that have loaded soak/resources.js, summed. */
  async resources() {
    const sums = {};
    for (const pid of this.pids.values()) {
      const told = await readAll(connect(join(this.running.data, `resources-${pid}.sock`)));
      for (const [name, value] of Object.entries(JSON.parse(told))) sums[name] = (sums[name] ?? 0) + value;
    }
    return sums;
  }

  /** What the workers hold once it is no more than `before`, or once uWebSockets.js has closed all silent connections. */
  async settled(before = { descriptors: Number.POSITIVE_INFINITY }) {
    for (let tries = 0; tries < 200 && this.descriptors > before.descriptors; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return { descriptors: this.descriptors };
  }
}

async function readAll(stream) {
  let text = '';
  for await (const chunk of stream) text += chunk;
  return text;
}

/** uWebSockets.js complains of a late upgrade where no other WebSocket is open; the upgrade is in order. */
const HARMLESS = /^Warning: uWS\.HttpResponse writes must be made from within a corked callback/;
