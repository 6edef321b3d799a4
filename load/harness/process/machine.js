import { readFileSync } from 'node:fs';

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

/** The same with the moment of reading, in ms. */
export const machineUse = () => ({ at: Date.now(), ...readMachine() });

/** Cores that programs have used between two readings. */
export const machineShare = (before, after) => (after.used - before.used) / 1000 / (after.at - before.at);
