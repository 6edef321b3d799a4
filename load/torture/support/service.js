import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { descriptorsOf } from '../../harness/processes.js';
import { own } from './at-exit.js';

const main = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));

/**
 * How long a session on polling may stay whose client has vanished, in ms: its heartbeat finds out after 45 s, the interval
 * and what a client has for the answer.
 */
export const LONGEST_REST = 75_000;

/** What pino writes for `error`; from here on something went wrong that should not. */
const ERROR = 50;

/** The service as `npm start` runs it, with a folder and a port of its own on the loopback interface. */
export class Service {
  /** Log lines of level error or fatal, and whatever was written to the standard error. */
  complaints = [];
  /** The processes that are or were workers, by worker. */
  pids = new Map();
  #child;
  #directory;

  /**
   * @param {Record<string, string>} environment
   * @param {string[]} [nodeOptions] of the primary and the workers
   */
  static async start(environment = {}, nodeOptions = []) {
    const service = new Service();
    service.#directory = await mkdtemp(join(tmpdir(), 'gjallar-torture-'));
    await service.#launch(environment, nodeOptions);
    return service;
  }

  async #launch(environment, nodeOptions) {
    const { PATH = '', HOME = '', TMPDIR = '/tmp' } = process.env;
    const defaults = { HOST: '127.0.0.1', PORT: '0', WORKERS: '2', DATA_DIR: this.#directory };
    const env = { PATH, HOME, TMPDIR, ...defaults, ...environment };
    this.#child = own(spawn(process.execPath, [...nodeOptions, main], { env, stdio: ['ignore', 'pipe', 'pipe'] }));
    this.#child.stderr.on('data', (chunk) => this.complaints.push(...complaintsOf(String(chunk))));
    this.port = await new Promise((resolve, reject) => {
      createInterface(this.#child.stdout).on('line', (line) => {
        const greeting = /^gjallar listens on https?:\/\/[^ ]+:(\d+) /.exec(line);
        if (greeting) resolve(Number(greeting[1]));
        else if (line.startsWith('{')) this.#log(line);
      });
      this.#child.once('exit', (code) => reject(new Error(`the service ended with ${code}: ${this.complaints}`)));
    });
  }

  #log(line) {
    const { level, msg, worker, pid } = JSON.parse(line);
    if (msg === 'listening') this.pids.set(worker, pid);
    if (level >= ERROR) this.complaints.push(line);
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
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

  /** What the workers tell that have loaded soak/vitals.js, summed. */
  async vitals() {
    const sums = {};
    for (const pid of this.pids.values()) {
      const told = await readAll(connect(join(this.#directory, `vitals-${pid}.sock`)));
      for (const [name, value] of Object.entries(JSON.parse(told))) sums[name] = (sums[name] ?? 0) + value;
    }
    return sums;
  }

  /** What the workers hold once it is not more than `before`, or else when uWebSockets.js has cut off whoever is silent. */
  async settled(before = { descriptors: Number.POSITIVE_INFINITY }) {
    for (let tries = 0; tries < 200 && this.descriptors > before.descriptors; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return { descriptors: this.descriptors };
  }

  /** Stops it in order. Resolves with its exit code. */
  async stop() {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill('SIGTERM');
      await once(this.#child, 'exit');
    }
    await rm(this.#directory, { recursive: true, force: true });
    return this.#child.exitCode;
  }
}

async function readAll(stream) {
  let text = '';
  for await (const chunk of stream) text += chunk;
  return text;
}

/** uWebSockets.js complains of a late upgrade where no other WebSocket is open; the upgrade is in order. */
const HARMLESS = /^Warning: uWS\.HttpResponse writes must be made from within a corked callback/;

function complaintsOf(text) {
  return text.split('\n').filter((line) => line.trim() !== '' && !HARMLESS.test(line));
}
