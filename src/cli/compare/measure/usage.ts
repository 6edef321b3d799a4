import { cpuOf, familyOf, pssOf } from '../server/processes.js';

/** CPU time of an application so far, in µs; NaN where the kernel does not tell. */
export const cpuMicros = (pid: number) => familyOf(pid).reduce((sum, one) => sum + cpuOf(one), 0) || Number.NaN;

/** Memory of an application in bytes; NaN where the kernel does not tell. */
export const memoryOf = (pid: number) => familyOf(pid).reduce((sum, one) => sum + pssOf(one), 0) || Number.NaN;

/** The value below which a share of all values lies; NaN without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
