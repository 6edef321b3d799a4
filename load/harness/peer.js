import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { now } from '../generator/clock.js';
import { Child } from './child.js';
import { serverCore } from './cores.js';

export const HOST = '127.0.0.1';
/** With PROFILE=folder in the environment each server writes a CPU profile there. Its figures are then worth nothing. */
const profiles = process.env.PROFILE;

/** A server under test. */
export class Peer {
  /**
   * @param {string} name of a file in `load/peers/`
   * @param {{ pingInterval?: number }} options the same for every peer of a row
   */
  static async start(name, options = {}) {
    const file = fileURLToPath(new URL(`../peers/${name}.js`, import.meta.url));
    const peer = new Peer();
    peer.name = name;
    const flags = profiles ? ['--cpu-prof', `--cpu-prof-dir=${profiles}`, '--cpu-prof-interval=200'] : [];
    const args = ['--expose-gc', ...flags, file, JSON.stringify({ host: HOST, ...options })];
    peer.child = await Child.start(serverCore, args);
    peer.port = peer.child.hello.port;
    return peer;
  }

  get pid() {
    return this.child.pid;
  }

  /**
   * CPU time used so far, with the moment of reading: as the process tells it, to the microsecond, and as the kernel
   * tells it, in ticks of 10 ms. A saturated server may be too busy to tell; then only the second is there.
   */
  async cpu() {
    const outside = { at: now(), micros: kernelCpu(this.pid) };
    const inside = await this.child.order('cpu', {}, 1000).catch(() => null);
    return { outside, inside };
  }

  /**
   * Memory once garbage is collected, in bytes: `rss`, `heapUsed`, `external`, `arrayBuffers`.
   * @returns {Promise<Record<string, number>>}
   */
  memory() {
    return this.child.order('memory');
  }

  /** Resident memory as the kernel sees it now, without disturbing the process; NaN where there is no /proc. */
  rss() {
    try {
      const line = readFileSync(`/proc/${this.pid}/status`, 'latin1').match(/^VmRSS:\s+(\d+) kB/m);
      return Number(line[1]) * 1024;
    } catch {
      return Number.NaN;
    }
  }

  stop() {
    return this.child.stop({ gently: profiles !== undefined });
  }
}

/** User and system time of a process in µs. NaN where there is no /proc. */
function kernelCpu(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // Fields are counted from behind the command name, which may hold anything: state is the first, utime the 12th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10_000;
  } catch {
    return Number.NaN;
  }
}

/** CPU seconds per second between two readings, both from the better of the sources that both of them have. */
export function cpuShare(before, after) {
  const [from, to] = before.inside && after.inside ? [before.inside, after.inside] : [before.outside, after.outside];
  return (to.micros - from.micros) / 1000 / (to.at - from.at);
}

/** CPU µs between two readings. */
export function cpuMicros(before, after) {
  const [from, to] = before.inside && after.inside ? [before.inside, after.inside] : [before.outside, after.outside];
  return to.micros - from.micros;
}
