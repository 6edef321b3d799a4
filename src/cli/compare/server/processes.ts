import { readdirSync, readFileSync } from 'node:fs';

// What the kernel reports about processes. Every figure is NaN for a process that has ended, and where there is no /proc.

/**
 * User and system time of a process so far, in µs: what each of its threads has run. The kernel keeps it to the nanosecond,
 * and up to date but for a thread that runs at the moment, whose last tick (1 to 10 ms) is missing. So is what threads
 * have run that have ended.
 */
export function cpuOf(pid: number): number {
  try {
    return threadsOf(pid).reduce((sum, thread) => sum + Number(read(`${thread}/schedstat`).split(' ', 1)[0]), 0) / 1000;
  } catch {
    return Number.NaN;
  }
}

/** Resident memory of a process, in bytes. */
export function rssOf(pid: number): number {
  try {
    const line = read(`/proc/${pid}/status`).match(/^VmRSS:\s+(\d+) kB/m);
    return Number(line![1]) * 1024;
  } catch {
    return Number.NaN;
  }
}

/** Memory of a process in bytes, what it shares with others divided among them. */
export function pssOf(pid: number): number {
  try {
    return Number(read(`/proc/${pid}/smaps_rollup`).match(/^Pss:\s+(\d+) kB/m)![1]) * 1024;
  } catch {
    return Number.NaN;
  }
}

/** How many descriptors a process has open. */
export function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return Number.NaN;
  }
}

/** A process and all its descendants. Processes that end meanwhile are left out. */
export function familyOf(pid: number): number[] {
  try {
    const children = threadsOf(pid).flatMap(startedBy);
    return [pid, ...children.flatMap(familyOf)];
  } catch {
    return [];
  }
}

/** The processes that a process has started itself and that have not ended; none of one that is no more. */
export function childrenOf(pid: number): number[] {
  try {
    return threadsOf(pid).flatMap(startedBy).filter(isRunning);
  } catch {
    return [];
  }
}

/** One that has ended stays listed until its parent has asked how. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(read(`/proc/${pid}/stat`));
  } catch {
    return false;
  }
}

function startedBy(thread: string): number[] {
  try {
    return read(`${thread}/children`).split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

const threadsOf = (pid: number) => readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`);

const read = (file: string) => readFileSync(file, 'latin1');
