import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Watch } from './watch.js';

/** USER_HZ, in which Linux counts: ticks in a second. */
const TICKS = 100;

/**
 * The machine's CPU time so far, in µs: what its programs have used, and what the host has given to other guests.
 * NaN on a system that does not tell.
 */
export function readMachine(text = procStat()) {
  const [user, nice, system, , , irq, softirq, steal = 0] = text
    .split('\n', 1)[0]
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  const micros = (ticks) => (ticks * 1e6) / TICKS;
  return { used: micros(user + nice + system + irq + softirq), stolen: micros(steal) };
}

function procStat() {
  try {
    return readFileSync('/proc/stat', 'latin1');
  } catch {
    return '';
  }
}

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
