import { now } from '../../generator/clock.js';
import { cpuOf } from './processes.js';

/** @typedef {{ at: number, micros: number }} CpuReading CPU time used until a moment, which is in ms */

/**
 * CPU time that processes have used so far, together. NaN where the kernel does not tell.
 * @param {number[]} pids
 * @returns {CpuReading}
 */
export const readCpu = (pids) => ({ at: now(), micros: pids.reduce((sum, pid) => sum + cpuOf(pid), 0) });

/** CPU µs between two readings. */
export const cpuMicros = (before, after) => after.micros - before.micros;

/** CPU seconds per second between two readings. */
export const cpuShare = (before, after) => cpuMicros(before, after) / 1000 / (after.at - before.at);
