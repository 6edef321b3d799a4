import { availableParallelism } from 'node:os';
import { readMachine } from '../../harness/process/machine.js';
import { Watch } from './watch.js';

/** What the whole machine uses, looked at every now and then. */
export class MachineWatch extends Watch {
  constructor() {
    super(() => readMachine());
  }

  /** Cores that were in use, and stolen, between two moments, in ms since 1970. NaN where the kernel does not tell. */
  share(from, to) {
    const readings = this.between(from, to);
    if (!readings) return { cores: availableParallelism(), used: Number.NaN, stolen: Number.NaN };
    const [first, last] = readings;
    const cores = (key) => (last[key] - first[key]) / 1000 / (last.at - first.at);
    return { cores: availableParallelism(), used: cores('used'), stolen: cores('stolen') };
  }
}
