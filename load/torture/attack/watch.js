import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { childrenOf, cpuOf, rssOf } from '../../harness/process/processes.js';

const MB = 1_000_000;
const SAMPLE_MS = 50;
/** A worker that takes more than this is ended: the machine has others on it. In bytes. */
const GUARD = 2_500 * MB;

/** Follows the workers of a server from outside: processor time, memory, disk, and workers that end. */
export class Watch {
  deaths = 0;
  /** What the workers use at most beyond their idle memory, in bytes. */
  growth = 0;
  diskGrowth = 0;
  /** Workers that the watch itself had to end, since they took too much. */
  guarded = 0;
  /** The same of a helper, such as Redis. */
  helperGrowth = 0;
  #cpu = new Map();
  #helper;
  #helperIdle;
  #idle;
  #timer;
  #diskBefore;

  /** @param {number} primary its process id @param {string} data folder of the history @param {number} [helper] */
  constructor(primary, data, helper) {
    this.primary = primary;
    this.data = data;
    this.#diskBefore = sizeOf(data);
    this.#helper = helper;
    this.#helperIdle = rssOf(helper);
    const pids = childrenOf(primary);
    this.#idle = Math.max(...pids.map(rssOf));
    for (const pid of pids) this.#cpu.set(pid, { first: cpuOf(pid), last: cpuOf(pid) });
    this.#timer = setInterval(() => this.#look(), SAMPLE_MS);
  }

  stop() {
    clearInterval(this.#timer);
    this.#look();
  }

  /** CPU seconds of all workers since the beginning, those that ended included. */
  get cpu() {
    return [...this.#cpu.values()].reduce((sum, { first, last }) => sum + last - first, 0) / 1e6;
  }

  #look() {
    const pids = childrenOf(this.primary);
    for (const [pid, reading] of this.#cpu) {
      if (reading.isOver || pids.includes(pid)) continue;
      reading.isOver = true;
      this.deaths++;
    }
    for (const pid of pids) {
      const reading = this.#cpu.get(pid) ?? { first: 0, last: 0 };
      this.#cpu.set(pid, { ...reading, last: cpuOf(pid) || reading.last });
      const rss = rssOf(pid) || 0;
      this.growth = Math.max(this.growth, rss - this.#idle);
      if (rss > GUARD) this.#end(pid);
    }
    if (this.#helper) this.helperGrowth = Math.max(this.helperGrowth, rssOf(this.#helper) - this.#helperIdle || 0);
    this.diskGrowth = Math.max(this.diskGrowth, sizeOf(this.data) - this.#diskBefore);
  }

  #end(pid) {
    try {
      process.kill(pid, 'SIGKILL');
      this.guarded++;
    } catch {
      // It has just ended by itself.
    }
  }
}

/** Bytes of the files in a folder; what goes away meanwhile counts as nothing. */
function sizeOf(folder) {
  try {
    return readdirSync(folder, { recursive: true }).reduce((sum, name) => sum + fileSize(join(folder, name)), 0);
  } catch {
    return 0;
  }
}

function fileSize(path) {
  try {
    const status = statSync(path);
    return status.isFile() ? status.size : 0;
  } catch {
    return 0;
  }
}
