import { readFileSync, writeFileSync } from 'node:fs';
import { now } from '../../generator/clock.js';

const PAGE = 4096;

/** What the kernel holds for TCP connections of the machine, both ends, in bytes: what was sent and not yet read. */
export function tcpBuffers() {
  try {
    return Number(/^TCP:.* mem (\d+)/m.exec(readFileSync('/proc/net/sockstat', 'latin1'))[1]) * PAGE;
  } catch {
    return Number.NaN;
  }
}

/**
 * Memory of the machine in bytes, from /proc/meminfo: `available` to programs, and what the kernel keeps for itself of
 * what programs do, in `slab` for the most part: sockets, files, their names. Inodes and names that nothing uses are
 * freed first, where root asks: a program that looks at all descriptors of the machine leaves 2 KB for each connection.
 * What is left the kernel still takes for something that it could free, but they are those of open sockets.
 */
export function machineMemory() {
  try {
    freeUnused();
    const text = readFileSync('/proc/meminfo', 'latin1');
    const of = (name) => Number(new RegExp(`^${name}: +(\\d+) kB`, 'm').exec(text)[1]) * 1024;
    return {
      available: of('MemAvailable') - of('SReclaimable'),
      slab: of('Slab'),
      kernelStack: of('KernelStack'),
      pageTables: of('PageTables'),
    };
  } catch {
    return { available: Number.NaN, slab: Number.NaN, kernelStack: Number.NaN, pageTables: Number.NaN };
  }
}

function freeUnused() {
  try {
    writeFileSync('/proc/sys/vm/drop_caches', '2');
  } catch {
    // Not root: what is available is then less than it says.
  }
}

/**
 * Reads a server's memory again and again.
 * @param {import('./peer.js').Peer} peer
 * @param {number} every ms
 * @param {() => Promise<object>} [more] what else to note each time
 * @returns {() => { seconds: number, rss: number, tcp: number }[]} stops, and tells what was read, in MiB
 */
export function recordMemory(peer, every, more = async () => ({})) {
  const from = now();
  const series = [];
  const read = () => {
    const point = {
      seconds: (now() - from) / 1000,
      rss: peer.rss() / 2 ** 20,
      tcp: tcpBuffers() / 2 ** 20,
    };
    series.push(point);
    // A generator that does not answer in time leaves a point without.
    more().then(
      (noted) => Object.assign(point, noted),
      () => {},
    );
  };
  read();
  const timer = setInterval(read, every);
  return () => {
    clearInterval(timer);
    read();
    return series;
  };
}
