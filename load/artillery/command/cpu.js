import { cpuShare, readCpu } from '../../harness/process/cpu.js';
import { familyOf } from '../../harness/process/processes.js';
import { Watch } from './watch.js';

/** What a process and its descendants use of the CPU, looked at every now and then. */
export class CpuWatch extends Watch {
  constructor(pid) {
    super(() => {
      const family = familyOf(pid);
      const { micros } = readCpu(family);
      // Of a process that has ended there is nothing to tell, nor where there is no /proc.
      return family.length > 0 && !Number.isNaN(micros) ? { micros } : undefined;
    });
  }

  /** CPU seconds per second between two moments, in ms since 1970. NaN where the kernel does not tell. */
  share(from, to) {
    const readings = this.between(from, to);
    return readings ? cpuShare(...readings) : Number.NaN;
  }
}
