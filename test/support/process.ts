import { existsSync, readFileSync } from 'node:fs';
import { until } from './until.js';

/** Whether there is such a process, and it has not ended. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // One that has ended and lost its parent stays listed where nobody collects it, as in some containers.
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'));
}

/** Resolves when a process that is nobody's child here has ended: nothing else tells. */
export async function untilGone(pid: number): Promise<void> {
  await until(() => !isAlive(pid));
}
