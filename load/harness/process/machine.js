import { readFileSync } from 'node:fs';
import { now } from '../../generator/clock.js';
import { cpuOf } from './processes.js';

// CPU time, as the kernel counts it: of processes, and of the whole machine. NaN on a system that does not tell.

/**
 * CPU time that processes have used so far, together.
 * @param {number[]} pids
 * @returns {{ at: number, micros: number }} with the moment, in ms
 */
export const readCpu = (pids) => ({ at: now(), micros: pids.reduce((sum, pid) => sum + cpuOf(pid), 0) });

/** CPU µs between two readings. */
export const cpuMicros = (before, after) => after.micros - before.micros;

/** CPU seconds per second between two readings. */
export const cpuShare = (before, after) => cpuMicros(before, after) / 1000 / (after.at - before.at);

/** USER_HZ, in which Linux counts: ticks in a second. */
const TICKS = 100;

/**
 * The machine's CPU time so far, in µs, with the moment in ms: what its programs have `used`, and what the host has given to
 * other guests.
 */
export function machineUse() {
  const [line] = procStat().split('\n', 1);
  const [user, nice, system, , , irq, softirq, steal = 0] = line.trim().split(/\s+/).slice(1).map(Number);
  const micros = (ticks) => (ticks * 1e6) / TICKS;
  return { at: Date.now(), used: micros(user + nice + system + irq + softirq), stolen: micros(steal) };
}

function procStat() {
  try {
    return readFileSync('/proc/stat', 'latin1');
  } catch {
    return '';
  }
}

/** Cores that programs have used between two readings, or that were `stolen`. */
export const machineShare = (before, after, key = 'used') => (after[key] - before[key]) / 1000 / (after.at - before.at);
