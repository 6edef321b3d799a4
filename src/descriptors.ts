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

/** Descriptors that are reserved for files, databases and the other workers: a quarter of the limit, within these bounds. */
const MIN_RESERVE = 32;
const MAX_RESERVE = 256;

/** From this limit on, the whole reserve is kept. */
export const AMPLE_FOR_RESERVE = 2 * MAX_RESERVE;

/**
 * How many connections a process may accept.
 * @param limit the maximum number of its descriptors
 * @param open how many of them are open before it accepts connections
 */
export function connectionsWithin(limit: number, open = 0): number {
  const share = Math.min(MAX_RESERVE, Math.max(MIN_RESERVE, Math.ceil(limit / 4)));
  return Math.max(0, limit - Math.max(share, open + MIN_RESERVE));
}

const FOLDER = '/proc/self/fd';
