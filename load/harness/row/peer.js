import { fileURLToPath, pathToFileURL } from 'node:url';
import { nodeFlags, peers } from '../../peers/index.js';
import { Child } from '../process/child.js';
import { serverCores } from '../process/cores.js';
import { foreignProgram } from '../process/foreign.js';
import { cpuShare, readCpu } from '../process/machine.js';
import { rssOf } from '../process/processes.js';

const here = fileURLToPath(new URL('../../../', import.meta.url));

export const HOST = '127.0.0.1';
/** With PROFILE=folder in the environment each server writes a CPU profile there. Its figures are then worth nothing. */
const profiles = process.env.PROFILE;
const profiling = profiles ? ['--cpu-prof', `--cpu-prof-dir=${profiles}`, '--cpu-prof-interval=200'] : [];

/** A server under test. */
export class Peer {
  /**
   * @param {string} name of `peers/index.js`, or of a file in `peers/`
   * @param {{ pingInterval?: number, processes?: number }} options the same for every peer of a row; a server of
   *   several `processes` gets as many cores, if there are any beside one for the generators. `root` is the folder of
   *   another version whose peer of this name is run
   */
  static async start(name, { root = here, ...options } = {}) {
    const { program = name, ...settings } = {
      ...peers[name],
      nodeFlags,
      pingInterval: 25_000,
      pingTimeout: 20_000,
      ...options,
    };
    const peer = new Peer();
    peer.settings = settings;
    const folder = new URL('load/peers/', pathToFileURL(`${root}/`));
    const foreign = await foreignProgram(new URL(`foreign/${program}/`, folder));
    peer.unavailable = foreign?.unavailable;
    if (peer.unavailable) return peer;
    /** Seconds that it needs beyond what a benchmark gives all peers to warm up. */
    peer.warmUp = foreign?.warmUp ?? 0;
    peer.cores = serverCores(settings.processes);
    const command = foreign?.command ?? [
      ...['--expose-gc', ...settings.nodeFlags, ...profiling],
      fileURLToPath(new URL(`${program}.js`, folder)),
    ];
    peer.launch = (more) =>
      Child.start(peer.cores?.join(',') ?? null, [...command, JSON.stringify({ host: HOST, ...settings, ...more })], {
        patience: 20_000 + 1000 * (settings.processes ?? 0),
        foreign: foreign !== null,
        ...foreign,
      });
    peer.child = await peer.launch();
    const { hello } = peer.child;
    peer.unavailable = hello.unavailable;
    peer.ports = hello.ports ?? [hello.port];
    /** The server's own processes. */
    peer.pids = hello.pids ?? [peer.child.pid];
    /** Programs that it needs beside it, such as Redis. */
    peer.helpers = hello.helpers ?? {};
    return peer;
  }

  get port() {
    return this.ports[0];
  }

  /** CPU time used so far in µs, with the moment of reading. */
  cpu() {
    const helpers = Object.fromEntries(Object.entries(this.helpers).map(([name, pid]) => [name, readCpu([pid])]));
    return { ...readCpu(this.pids), helpers };
  }

  /**
   * Memory once garbage is collected, in bytes: `rss`, and, where the language has a collector, `heapUsed`.
   * @returns {Promise<Record<string, number>>}
   */
  async memory() {
    return { ...(await this.child.order('memory')), rss: this.rss() };
  }

  /** Resident memory as the kernel sees it now, without disturbing the process. */
  rss() {
    return this.pids.reduce((sum, pid) => sum + rssOf(pid), 0);
  }

  get hasChildren() {
    return this.pids?.some((pid) => pid !== this.child.pid);
  }

  /** Replaces what runs, as an operator deploys a new version: on the same ports. */
  async deploy() {
    if (this.hasChildren) return this.child.order('deploy');
    await this.child.stop();
    this.child = await this.launch({ port: this.port });
    this.pids = [this.child.pid];
  }

  stop() {
    const { hasChildren } = this;
    return this.child?.stop({ gently: hasChildren || profiles !== undefined });
  }
}

/** CPU seconds per second, between two readings, of each program that the server needs beside it. */
export const helperShares = (before, after) =>
  Object.fromEntries(
    Object.entries(after.helpers).map(([name, helper]) => [name, cpuShare(before.helpers[name], helper)]),
  );
