import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { childrenOf, cpuOf, rssOf } from '../../harness/process/processes.js';

const SAMPLE_MS = 50;
/** A worker that takes more than this is ended: the machine has others on it. In bytes. */
const GUARD = 2_500_000_000;

/** Follows the workers of a server from outside: processor time, memory, disk, and workers that end. */
export class Watch {
  /** In bytes: what a worker uses at most beyond its idle memory, what the data folder has grown by, and Redis. */
  most = { memory: 0, disk: 0, redis: 0 };
  deaths = 0;
  /** The processor time of each worker, in µs, as it was read last. */
  #cpu = new Map();

  /** @param {number} primary its process id @param {string} data folder of the history @param {number} [redis] */
  constructor(primary, data, redis) {
    const pids = childrenOf(primary);
    for (const pid of pids) this.#cpu.set(pid, cpuOf(pid));
    this.before = this.#micros;
    const idle = { memory: Math.max(...pids.map(rssOf)), disk: sizeOf(data), redis: rssOf(redis) };
    const note = (name, value) => {
      this.most[name] = Math.max(this.most[name], value - idle[name] || 0);
    };
    this.look = () => {
      const now = childrenOf(primary);
      this.deaths = [...this.#cpu.keys()].filter((pid) => !now.includes(pid)).length;
      for (const pid of now) {
        this.#cpu.set(pid, cpuOf(pid) || this.#cpu.get(pid) || 0);
        note('memory', rssOf(pid));
        if (rssOf(pid) > GUARD) process.kill(pid, 'SIGKILL');
      }
      if (redis) note('redis', rssOf(redis));
      note('disk', sizeOf(data));
    };
    this.timer = setInterval(this.look, SAMPLE_MS);
  }

  stop() {
    clearInterval(this.timer);
    this.look();
  }

  /** CPU seconds of all workers since the beginning, those that ended included. */
  get cpu() {
    return (this.#micros - this.before) / 1e6;
  }

  get #micros() {
    return [...this.#cpu.values()].reduce((sum, micros) => sum + micros, 0);
  }
}

/** Bytes of the files in a folder; 0 where one of its folders goes away meanwhile. */
function sizeOf(folder) {
  try {
    const names = readdirSync(folder, { recursive: true });
    return names.reduce((sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0), 0);
  } catch {
    return 0;
  }
}
