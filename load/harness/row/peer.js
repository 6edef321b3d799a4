import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from '../process/child.js';
import { serverCores } from '../process/cores.js';
import { cpuShare, readCpu } from '../process/cpu.js';
import { foreignPeer } from '../process/foreign.js';
import { rssOf } from '../process/processes.js';

const here = fileURLToPath(new URL('../../../', import.meta.url));

export const HOST = '127.0.0.1';
/**
 * Flags of Node.js that a peer's documentation tells to use: gjallar starts its workers with this one, and recommends it
 * to applications. The tuned stock server and the tuned ws get it too.
 */
const youngGeneration = ['--max-semi-space-size=2'];
const flagsOf = {
  gjallar: youngGeneration,
  'state-gjallar': youngGeneration,
  'gjallar-portable': youngGeneration,
  'ws-cluster': youngGeneration,
};
/** With PROFILE=folder in the environment each server writes a CPU profile there. Its figures are then worth nothing. */
const profiles = process.env.PROFILE;

/** A server under test. */
export class Peer {
  /**
   * @param {string} name of a file in a folder of `load/peers/`, or of a folder in `load/peers/foreign/`
   * @param {{ pingInterval?: number, processes?: number }} options the same for every peer of a row; a server of
   *   several `processes` gets as many cores, if there are any beside one for the generators. `root` is the folder of
   *   another version whose peer of this name is run
   */
  static async start(name, { root, ...options } = {}) {
    const peer = new Peer();
    peer.name = name;
    const foreign = await foreignPeer(name);
    peer.unavailable = foreign?.unavailable;
    if (peer.unavailable) return peer;
    /** Seconds that it needs beyond what a benchmark gives all peers to warm up. */
    peer.warmUp = foreign?.warmUp ?? 0;
    peer.cores = serverCores(options.processes);
    const settings = JSON.stringify({ host: HOST, pingInterval: 25_000, pingTimeout: 20_000, ...options });
    const patience = 20_000 + 1000 * (options.processes ?? 0);
    const cores = peer.cores?.join(',') ?? null;
    peer.child = foreign
      ? await Child.start(cores, [...foreign.command, settings], { foreign: true, patience, ...foreign })
      : await Child.start(cores, nodeArguments(name, settings, root), { patience });
    const { hello } = peer.child;
    peer.unavailable = hello.unavailable;
    peer.ports = hello.ports ?? [hello.port];
    /** The server's own processes. */
    peer.pids = hello.pids ?? [peer.child.pid];
    peer.helpers = hello.helpers ?? {};
    return peer;
  }

  get port() {
    return this.ports[0];
  }

  /** CPU time used so far in µs, with the moment of reading. Where there is no /proc, the process itself is asked. */
  async cpu() {
    const helpers = Object.fromEntries(Object.entries(this.helpers).map(([name, pid]) => [name, readCpu([pid])]));
    const own = readCpu(this.pids);
    return { ...(Number.isNaN(own.micros) ? await this.child.order('cpu') : own), helpers };
  }

  /**
   * Memory once garbage is collected, in bytes: `rss`, and, where the language has a collector, `heapUsed`.
   * @returns {Promise<Record<string, number>>}
   */
  async memory() {
    const inside = await this.child.order('memory');
    return { ...inside, rss: this.rss() || inside.rss };
  }

  /** Resident memory as the kernel sees it now, without disturbing the process; NaN where there is no /proc. */
  rss() {
    return this.pids.reduce((sum, pid) => sum + rssOf(pid), 0);
  }

  stop() {
    const hasChildren = this.pids?.some((pid) => pid !== this.child.pid);
    return this.child?.stop({ gently: hasChildren || profiles !== undefined });
  }
}

function nodeArguments(name, settings, root) {
  const profiling = profiles ? ['--cpu-prof', `--cpu-prof-dir=${profiles}`, '--cpu-prof-interval=200'] : [];
  return ['--expose-gc', ...(flagsOf[name] ?? []), ...profiling, fileOf(name, root), settings];
}

/** The file of a peer, in one of the folders of `load/peers/`. */
function fileOf(name, root) {
  const folder = join(root ?? here, 'load/peers');
  const file = readdirSync(folder)
    .map((kind) => join(folder, kind, `${name}.js`))
    .find(existsSync);
  if (!file) throw new Error(`there is no peer ${name}`);
  return file;
}

/** CPU seconds per second, between two readings, of each program that the server needs beside it. */
export const helperShares = (before, after) =>
  Object.fromEntries(
    Object.entries(after.helpers).map(([name, helper]) => [name, cpuShare(before.helpers[name], helper)]),
  );
