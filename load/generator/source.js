// Where a client connects from. One address has 65,535 ports, fewer than a large run needs, and to let the kernel look for
// a free one takes it longer and longer as they fill up: half a millisecond at 10,000 connections, which is more than the
// connection itself costs. So every generator process has a loopback address of its own, made from its process id, and
// deals out that address's ports in order, without those that some program listens on at all addresses. Elsewhere than on Linux only 127.0.0.1 can be counted on, and the kernel chooses.

import { readFileSync } from 'node:fs';

const FIRST_PORT = 10_000;
const LISTENING = '0A';
const linux = process.platform === 'linux';
const localAddress = `127.${64 + ((process.pid >> 16) & 63)}.${(process.pid >> 8) & 255}.${process.pid & 255}`;

const taken = linux ? listenedPorts() : new Set();
let port = FIRST_PORT;

/** @returns {{ localAddress?: string, localPort?: number }} */
export function nextSource() {
  while (taken.has(port)) port++;
  return linux ? { localAddress, localPort: port++ } : {};
}

function listenedPorts() {
  const lines = ['tcp', 'tcp6'].flatMap((name) => {
    try {
      return readFileSync(`/proc/net/${name}`, 'utf8').trim().split('\n').slice(1);
    } catch {
      // A system without IPv6.
      return [];
    }
  });
  const sockets = lines.map((line) => line.trim().split(/\s+/));
  const listening = sockets.filter(([, , , state]) => state === LISTENING);
  return new Set(listening.map(([, local]) => Number.parseInt(local.split(':')[1], 16)));
}
