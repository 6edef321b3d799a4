import { readFileSync, writeFileSync } from 'node:fs';
import { pssOf } from '../process/processes.js';

/** The number that a pattern finds in a file of /proc; NaN where there is none. */
function numberIn(file, pattern) {
  try {
    return Number(pattern.exec(readFileSync(file, 'latin1'))[1]);
  } catch {
    return Number.NaN;
  }
}

/**
 * Memory of the machine, in bytes: what is `available` to programs, and what the `kernel` has for its objects, such as sockets. Inodes and names that nothing uses are freed first, where
 * root asks: a program that looks at all descriptors of the machine leaves 2 KB for each connection. What is left the kernel
 * still takes for something that it could free, but they are those of open sockets.
 */
export function machineMemory() {
  try {
    writeFileSync('/proc/sys/vm/drop_caches', '2');
  } catch {
    // Not root: what is available is then less than it says.
  }
  const of = (name) => numberIn('/proc/meminfo', new RegExp(`^${name}: +(\\d+) kB`, 'm')) * 1024;
  return { available: of('MemAvailable') - of('SReclaimable'), kernel: of('Slab') };
}

const sumOf = (pids) => pids.map(pssOf).reduce((total, bytes) => total + bytes, 0);

/** The same, with that of the server's processes and of generators, in bytes. */
export const memoryOf = (peer, generators = []) => ({
  ...machineMemory(),
  server: sumOf(peer.pids),
  generator: sumOf(generators),
});

/**
 * Reads a server's memory again and again.
 * @param {import('./peer.js').Peer} peer
 * @param {number} every ms
 * @returns {() => number} stops, and tells the most that it was, in MiB
 */
export function recordMemory(peer, every) {
  let highest = 0;
  const read = () => {
    highest = Math.max(highest, peer.rss() / 2 ** 20);
  };
  read();
  const timer = setInterval(read, every);
  return () => {
    clearInterval(timer);
    read();
    return highest;
  };
}
