import { cpuShare, readCpu } from '../../harness/cpu.js';
import { familyOf } from '../../harness/processes.js';

const INTERVAL = 200;

/** What a process and its descendants use of the CPU, looked at every now and then. */
export class CpuWatch {
  #pid;
  #readings = [];
  #timer;

  constructor(pid) {
    this.#pid = pid;
    this.#look();
    this.#timer = setInterval(() => this.#look(), INTERVAL);
  }

  stop() {
    clearInterval(this.#timer);
  }

  /** CPU seconds per second between two moments, in ms since 1970. NaN where the kernel does not tell. */
  share(from, to) {
    const within = this.#readings.filter(({ at }) => at >= from && at <= to);
    return within.length > 1 ? cpuShare(within.at(0), within.at(-1)) : Number.NaN;
  }

  #look() {
    const family = familyOf(this.#pid);
    const { micros } = readCpu(family);
    // Of a process that has ended there is nothing to tell, nor where there is no /proc.
    if (family.length > 0 && !Number.isNaN(micros)) this.#readings.push({ at: Date.now(), micros });
  }
}
