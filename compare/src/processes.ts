import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import type { Server } from './observation.js';

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

/** Memory of a process in bytes, what it shares with others divided among them. */
export function pssOf(pid: number): number {
  try {
    return Number(read(`/proc/${pid}/smaps_rollup`).match(/^Pss:\s+(\d+) kB/m)![1]) * 1024;
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

function startedBy(thread: string): number[] {
  try {
    return read(`${thread}/children`).split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

const threadsOf = (pid: number) => readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`);

const read = (file: string) => readFileSync(file, 'latin1');

/** The state of a listening socket in /proc/net/tcp. */
const LISTEN = '0A';

/** Where processes listen on TCP, as addresses to connect to; none where there is no /proc. */
export function listenersOf(pids: readonly number[]): Server[] {
  const inodes = new Set(pids.flatMap(socketsOf));
  const found = pids.slice(0, 1).flatMap((pid) => [...rowsOf(pid, 'tcp'), ...rowsOf(pid, 'tcp6')]);
  return found.filter(({ inode }) => inodes.has(inode)).map(({ host, port }) => ({ host, port }));
}

function socketsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((name) => inodeOf(`/proc/${pid}/fd/${name}`));
  } catch {
    return [];
  }
}

function inodeOf(descriptor: string): string[] {
  try {
    const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(descriptor)) ?? [];
    return inode ? [inode] : [];
  } catch {
    return [];
  }
}

function rowsOf(pid: number, family: 'tcp' | 'tcp6') {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/net/${family}`, 'latin1');
  } catch {
    return [];
  }
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === LISTEN)
    .map((fields) => {
      const [address, port] = fields[1]!.split(':') as [string, string];
      return { host: hostOf(address, family), port: Number.parseInt(port, 16), inode: fields[9]! };
    });
}

/** Only an address of this machine is ever connected to: those of its networks are left to the application. */
function hostOf(address: string, family: 'tcp' | 'tcp6'): string {
  // Without IPV6_V6ONLY, which Node.js does not set by itself, [::] accepts IPv4 too.
  const isOnlyIpv6 = family === 'tcp6' && !/^0+$/.test(address) && !/^0{16}(0000FFFF|FFFF0000)/i.test(address);
  return isOnlyIpv6 ? '::1' : '127.0.0.1';
}

/** A port of this machine that is free at the moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
