import { cpuOf, familyOf } from '../../harness/processes.js';

const INTERVAL = 200;

/** What a process and its descendants use of the CPU, looked at every now and then. */
export class CpuWatch {
  #pid;
  #samples = [];
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
    const within = this.#samples.filter(({ at }) => at >= from && at <= to);
    const [first, last] = [within.at(0), within.at(-1)];
    return first && last.at > first.at ? (last.micros - first.micros) / 1000 / (last.at - first.at) : Number.NaN;
  }

  #look() {
    const micros = cpuMicros(this.#pid);
    if (!Number.isNaN(micros)) this.#samples.push({ at: Date.now(), micros });
  }
}

/** Of a process that has ended there is nothing to tell, nor where there is no /proc. */
function cpuMicros(pid) {
  try {
    return familyOf(pid).reduce((sum, process) => sum + cpuOf(process), 0);
  } catch {
    return Number.NaN;
  }
}
