import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { own } from './children.js';
import { lineWith, OwnedProcess } from './owned-process.js';
import { freePort, onFreePort } from './ports.js';
import { until } from './until.js';

export { until } from './until.js';

/** Settings of a Redis that keeps on its disk what it has confirmed. */
export const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** Commands after which a Redis is not as it was, even when it is empty: they belong to the test that sent them. */
const LASTING =
  /^cmdstat_(?:acl\|(?:setuser|deluser|load)|client\|(?:pause|no-evict)|debug|replicaof|slaveof|function|module|failover)/m;

/** Whether there is a redis-server on this machine. */
export const hasRedis = () => spawnSync('redis-server', ['--version']).status === 0;

/** A Redis process of its own, with a directory of its own. */
export class RedisProcess extends OwnedProcess {
  #isHanging = false;
  /** Its settings when it was new, by name, or undefined where no other test may have it. */
  #config;

  /**
   * On the loopback interface. In tests, it may be one that another test has removed: empty, with its first settings.
   * @param {string[]} settings
   */
  static async start(...settings) {
    // environment.mjs sets them, for all test files of a process of jest.
    const parked = globalThis.parkedServers?.get(settings.join(' ')) ?? [];
    for (let known = parked.pop(); known; known = parked.pop()) {
      const again = new RedisProcess(known.port, known.directory, { settings });
      again.child = own(known.child);
      known.child.ref();
      // A client that has outlived its test would be seen by this one.
      if (await onConnection(known.port, isAlone)) {
        again.#config = known.config;
        return again;
      }
      await again.remove();
    }
    const directory = await mkdtemp(join(tmpdir(), 'gjallar-redis-'));
    return onFreePort(async (port) => {
      // By itself, a node of a cluster would also listen on the port plus 10,000, which may be taken, or none.
      const more = settings.includes('--cluster-enabled') ? ['--cluster-port', `${await freePort()}`] : [];
      const redis = new RedisProcess(port, directory, { settings: [...settings, ...more] });
      await redis.start();
      // The nodes of a cluster know each other.
      if (globalThis.parkedServers && !settings.includes('--cluster-enabled'))
        redis.#config = await onConnection(port, configOf);
      return redis;
    });
  }

  /**
   * @param {number} port @param {string} directory
   * @param {{ settings?: readonly string[], host?: string, launch?: typeof spawn }} options
   */
  constructor(port, directory, { settings = [], host = '127.0.0.1', launch = spawn }) {
    super(port, directory);
    Object.assign(this, { settings, host, launch });
  }

  get url() {
    return `redis://${this.host}:${this.port}`;
  }

  /** Starts it again, with what it has kept on its disk. */
  async start() {
    const address = ['--port', `${this.port}`, '--bind', this.host, '--protected-mode', 'no'];
    const args = [...address, '--dir', this.directory, '--save', '', ...this.settings];
    this.child = own(this.launch('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] }));
    await lineWith(this.child, 'Ready to accept connections');
  }

  async restart() {
    await this.stop();
    await this.start();
  }

  /** @param {NodeJS.Signals} signal */
  signal(signal) {
    this.#isHanging = signal === 'SIGSTOP';
    super.signal(signal);
  }

  async remove() {
    const { child, port, directory } = this;
    const parked = globalThis.parkedServers;
    const config = this.#config;
    if (!child || !config || this.#isHanging || !(await isMadeNew(port, config))) return super.remove();
    await rm(join(directory, 'dump.rdb'), { force: true });
    this.child = undefined;
    park(child);
    const key = this.settings.join(' ');
    parked.set(key, [...(parked.get(key) ?? []), { child, config, port, directory }]);
  }
}

/** Nothing of this file hears of the process any more, which does not keep jest from ending. */
function park(child) {
  globalThis.testChildren.delete(child);
  child.removeAllListeners();
  child.stdout.removeAllListeners('data').resume().unref();
  child.unref();
}

/** Makes a Redis as good as a new one, without clients. Resolves with false if that is not possible. */
async function isMadeNew(port, config) {
  const made = await onConnection(port, async (redis) => {
    if (LASTING.test(await redis.info('commandstats'))) return false;
    const changed = Object.entries(await configOf(redis)).filter(([name, value]) => value !== config[name]);
    for (const [name] of changed) await redis.config('SET', name, config[name]);
    await redis.call('CLIENT', 'KILL', 'SKIPME', 'yes');
    await redis.flushall();
    await redis.script('FLUSH');
    await redis.config('RESETSTAT');
    return true;
  });
  return made ?? false;
}

/** Its settings, as CONFIG GET names them. */
async function configOf(redis) {
  const pairs = await redis.config('GET', '*');
  return Object.fromEntries(pairs.flatMap((name, at) => (at % 2 === 0 ? [[name, pairs[at + 1]]] : [])));
}

/** Resolves with undefined if Redis does not do what it is asked for. */
async function onConnection(port, work) {
  const redis = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null, commandTimeout: 5000 });
  redis.on('error', () => {});
  try {
    await redis.connect();
    return await work(redis);
  } catch {
    return undefined;
  } finally {
    redis.disconnect();
  }
}

/** The slots of each master. */
const SLOTS = [
  [0, 5460],
  [5461, 10_922],
  [10_923, 16_383],
];

/** A Redis Cluster of three masters. */
export class RedisCluster {
  /** @param {readonly RedisProcess[]} processes */
  constructor(processes) {
    this.processes = processes;
  }

  /** @param {{ replicas?: boolean }} [options] `replicas`: each master has one, in the last three processes */
  static async start({ replicas = false } = {}) {
    const processes = await Promise.all(
      Array.from({ length: replicas ? 6 : 3 }, () => {
        const cluster = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000'];
        return RedisProcess.start(...cluster, '--repl-diskless-sync-delay', '0');
      }),
    );
    const cluster = new RedisCluster(processes);
    await cluster.#join();
    return cluster;
  }

  /** Two of the nodes, as REDIS_URL takes them. */
  get url() {
    return `${this.processes[0].url},${this.processes[1].url}`;
  }

  async remove() {
    await Promise.all(this.processes.map((redis) => redis.remove()));
  }

  async #join() {
    const nodes = this.processes.map((redis) => new Redis(redis.port, '127.0.0.1'));
    const replicas = nodes.slice(SLOTS.length);
    const says = async (node, text, ...command) => String(await node.call(...command)).includes(text);
    try {
      const ids = await Promise.all(nodes.map((node) => node.call('CLUSTER', 'MYID')));
      for (const [index, slots] of SLOTS.entries()) await nodes[index].call('CLUSTER', 'ADDSLOTSRANGE', ...slots);
      for (const [index, node] of nodes.entries()) await node.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
      for (const { port, settings } of this.processes.slice(1)) {
        const busPort = settings[settings.indexOf('--cluster-port') + 1];
        await nodes[0].call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
      }
      for (const node of nodes) await until(() => says(node, `cluster_known_nodes:${nodes.length}`, 'CLUSTER', 'INFO'));
      for (const [index, replica] of replicas.entries()) {
        const replicate = () => replica.call('CLUSTER', 'REPLICATE', ids[index]);
        await until(() =>
          replicate().then(
            () => true,
            () => false,
          ),
        );
      }
      for (const node of nodes) {
        await until(() => says(node, 'cluster_state:ok', 'CLUSTER', 'INFO'));
        await until(
          async () => (String(await node.call('CLUSTER', 'NODES')).match(/slave /g) ?? []).length === replicas.length,
        );
      }
      for (const replica of replicas) await until(() => says(replica, 'master_link_status:up', 'INFO', 'replication'));
    } finally {
      for (const node of nodes) node.disconnect();
    }
  }
}

/** Whether a connection to Redis is the only one. @param {Redis} observer */
const isAlone = async (observer) =>
  String(await observer.client('LIST'))
    .trim()
    .split('\n').length === 1;

/** Resolves when a connection to Redis is the only one. @param {Redis} observer */
export const untilAlone = (observer) => until(() => isAlone(observer));
