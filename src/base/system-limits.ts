import { readdirSync, readFileSync, statSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { join, relative } from 'node:path';

/**
 * Limits of the control groups of this process. The one of its own group may be higher than that of a group around it, as
 * with systemd's MemoryMax= for a slice, so the smallest on the path counts.
 */

/** The memory that this process may use, in bytes. */
export function memoryLimit(proc = '/proc/self', total = totalmem()): number {
  const limits = groupFolders(proc, 'memory').flatMap((folder) =>
    // Of version 2 and version 1. Without a limit, the first one is "max", and the second one is beyond any memory.
    ['memory.max', 'memory.limit_in_bytes'].map((file) => Number(read(join(folder, file)) || Number.NaN)),
  );
  return Math.min(total, ...limits.filter((limit) => limit > 0));
}

/** How many processors this process may use at a time, as a number that need not be whole. */
export function processorLimit(proc = '/proc/self', total = availableParallelism()): number {
  const limits = groupFolders(proc, 'cpu').flatMap((folder) => {
    const ofVersion1 = ['cpu.cfs_quota_us', 'cpu.cfs_period_us'].map((file) => read(join(folder, file)));
    return [(read(join(folder, 'cpu.max')) ?? '').split(' '), ofVersion1].map(([quota, period]) =>
      Number(quota) > 0 ? Number(quota) / Number(period) : Number.NaN,
    );
  });
  return Math.min(total, ...limits.filter((limit) => limit > 0));
}

/** The folders of the group that has this process, and of those around it. Source: man 7 cgroups. */
function groupFolders(proc: string, controller: string): string[] {
  const groups = lines(join(proc, 'cgroup')).map((line) => {
    const [, id, controllers, path] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? [];
    return { isVersion2: id === '0', controllers: controllers?.split(',') ?? [], path: path ?? '/' };
  });
  return lines(join(proc, 'mountinfo')).flatMap((line) => {
    const [mount = '', source = ''] = line.split(' - ');
    const [, , , root = '/', folder = ''] = mount.split(' ');
    const [type, , options = ''] = source.split(' ');
    const isVersion2 = type === 'cgroup2';
    if (!isVersion2 && !(type === 'cgroup' && options.split(',').includes(controller))) return [];
    const group = groups.find((one) => (isVersion2 ? one.isVersion2 : one.controllers.includes(controller)));
    return group ? pathFrom(unescaped(folder), relative(unescaped(root), group.path)) : [];
  });
}

/** The kernel writes a space as `\040`, for example. Source: man 5 proc_pid_mountinfo. */
function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** A container may see the path of its group outside, while its own group is mounted as the topmost one. */
function pathFrom(top: string, path: string): string[] {
  const steps = path.startsWith('..') ? [] : path.split('/').filter(Boolean);
  return [top, ...steps.map((_step, index) => join(top, ...steps.slice(0, index + 1)))];
}

function lines(path: string): string[] {
  return (read(path) ?? '').split('\n').filter(Boolean);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

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
