import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { childrenOf, cpuOf, rssOf } from '../../harness/process/processes.js';

const MB = 1_000_000;
const SAMPLE_MS = 50;
/** A worker that takes more than this is ended: the machine has others on it. In bytes. */
const GUARD = 2_500 * MB;

/** Follows the workers of a server from outside: processor time, memory, disk, and workers that end. */
export class Watch {
  /** In bytes: what a worker uses at most beyond its idle memory, what the data folder has grown by, and Redis. */
  growth = 0;
  diskGrowth = 0;
  redisGrowth = 0;
  deaths = 0;
  /** The processor time of each worker, in µs, as it was read last. */
  #cpu = new Map();
  #before;
  #idle;
  #timer;

  /** @param {number} primary its process id @param {string} data folder of the history @param {number} [redis] */
  constructor(primary, data, redis) {
    this.primary = primary;
    this.data = data;
    this.redis = redis;
    const pids = childrenOf(primary);
    for (const pid of pids) this.#cpu.set(pid, cpuOf(pid));
    this.#before = this.#micros;
    this.#idle = { worker: Math.max(...pids.map(rssOf)), redis: rssOf(redis), disk: sizeOf(data) };
    this.#timer = setInterval(() => this.#look(), SAMPLE_MS);
  }

  stop() {
    clearInterval(this.#timer);
    this.#look();
  }

  /** CPU seconds of all workers since the beginning, those that ended included. */
  get cpu() {
    return (this.#micros - this.#before) / 1e6;
  }

  get #micros() {
    return [...this.#cpu.values()].reduce((sum, micros) => sum + micros, 0);
  }

  #look() {
    const pids = childrenOf(this.primary);
    this.deaths = [...this.#cpu.keys()].filter((pid) => !pids.includes(pid)).length;
    for (const pid of pids) {
      this.#cpu.set(pid, cpuOf(pid) || this.#cpu.get(pid) || 0);
      const rss = rssOf(pid) || 0;
      this.growth = Math.max(this.growth, rss - this.#idle.worker);
      if (rss > GUARD) endHard(pid);
    }
    if (this.redis) this.redisGrowth = Math.max(this.redisGrowth, rssOf(this.redis) - this.#idle.redis || 0);
    this.diskGrowth = Math.max(this.diskGrowth, sizeOf(this.data) - this.#idle.disk);
  }
}

function endHard(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has just ended by itself.
  }
}

/** Bytes of the files in a folder; 0 where one of its folders goes away meanwhile. */
function sizeOf(folder) {
  try {
    return readdirSync(folder, { recursive: true }).reduce((sum, name) => sum + fileSize(join(folder, name)), 0);
  } catch {
    return 0;
  }
}

const fileSize = (path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
