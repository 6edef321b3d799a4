import { readdirSync, readFileSync, statSync } from 'node:fs';

/** The maximum number of file descriptors of this process; undefined if the system does not report it. */
export function maxDescriptors(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** The number of open file descriptors of this process; undefined if the system does not report it. */
export function openDescriptors(): number | undefined {
  try {
    // The size is the number since Linux 6.2. Before, it is 0, and only the list tells.
    return statSync(FOLDER).size || readdirSync(FOLDER).length;
  } catch {
    return undefined;
  }
}

const FOLDER = '/proc/self/fd';
