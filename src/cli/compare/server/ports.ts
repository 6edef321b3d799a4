import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import type { Server } from '../drive/request.js';

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
