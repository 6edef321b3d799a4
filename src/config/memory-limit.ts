import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

/** The memory that this machine or container may use, in bytes. */
export function memoryLimit(): number {
  return Math.min(
    totalmem(),
    ...['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes'].map(read),
  );
}

/** A file of the cgroup, which says "max" where there is no limit. */
function read(path: string): number {
  try {
    return Number(readFileSync(path, 'utf8')) || Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
