// CPU, memory and descendants of processes. What `gjallar compare` measures too is its function. Needs npm run build.
import { readdirSync, readFileSync } from 'node:fs';

export { cpuOf, familyOf, pssOf } from '../../../compare/dist/processes.js';

/** Resident memory of a process, in bytes. */
export const rssOf = (pid) =>
  figure(() => Number(read(`/proc/${pid}/status`).match(/^VmRSS:\s+(\d+) kB/m)[1]) * 1024, Number.NaN);

/** How many descriptors a process has open. */
export const descriptorsOf = (pid) => figure(() => readdirSync(`/proc/${pid}/fd`).length, Number.NaN);

/** The processes that a process has started itself and that have not ended; none of one that is no more. */
export const childrenOf = (pid) =>
  figure(() => readdirSync(`/proc/${pid}/task`).flatMap((thread) => startedBy(pid, thread)), []).filter(isRunning);

const startedBy = (pid, thread) =>
  figure(() => read(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number), []);

/** One that has ended stays listed until its parent has asked how. */
const isRunning = (pid) => figure(() => !/\) Z /.test(read(`/proc/${pid}/stat`)), false);

const read = (file) => readFileSync(file, 'latin1');

/** @returns `missing` for a process that has ended, and where there is no /proc */
function figure(measure, missing) {
  try {
    return measure();
  } catch {
    return missing;
  }
}
