import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll } from '@jest/globals';
import { Redis } from 'ioredis';
import { endWithFile } from './children.js';
import { OwnedProcess } from './owned-process.js';
import { freePort, onFreePort } from './ports.js';
import { until } from './until.js';

export { until } from './until.js';

/** Commands after which a Redis is not as it was, even when it is empty: they belong to the test that sent them. */
const LASTING =
  /^cmdstat_(?:acl\|(?:setuser|deluser|load)|client\|(?:pause|no-evict)|debug|replicaof|slaveof|function|module|failover)/m;

/** The settings of a running Redis, as CONFIG GET names them. */
type Config = Record<string, string>;

interface IdleProcess {
  readonly port: number;
  readonly directory: string;
  readonly child: ChildProcess;
  readonly config: Config;
}

/** What tests have removed: the next test of the file that asks for the same settings gets it, empty. */
const idle = new Map<string, IdleProcess[]>();
let isEnding = false;

/** A Redis process of the test's own, on the loopback interface and with a directory of its own. */
export class RedisProcess extends OwnedProcess {
  private isHanging = false;
  /** Its settings when it was new, or undefined where no other test may have it. */
  private config: Config | undefined;

  private constructor(
    port: number,
    directory: string,
    private readonly settings: readonly string[],
  ) {
    super(port, directory);
  }

  static async start(...settings: string[]): Promise<RedisProcess> {
    const known = idle.get(settings.join(' '))?.pop();
    if (known) {
      const again = new RedisProcess(known.port, known.directory, settings);
      again.child = known.child;
      again.config = known.config;
      return again;
    }
    const directory = await mkdtemp(join(tmpdir(), 'gjallar-redis-'));
    return onFreePort(async (port) => {
      const redis = new RedisProcess(port, directory, settings);
      await redis.start();
      // The nodes of a cluster know each other.
      if (!settings.includes('--cluster-enabled')) redis.config = await onConnection(port, configOf);
      return redis;
    });
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts it again, with what it has kept on its disk. */
  async start(): Promise<void> {
    const settings = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--dir', this.directory, '--save', ''];
    const args = [...settings, ...this.settings];
    const child = endWithFile(spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] }));
    // test/setup/run.mjs says at its end how many there were.
    if (process.env.GJALLAR_REDIS_STARTS) appendFileSync(process.env.GJALLAR_REDIS_STARTS, '.');
    this.child = child;
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)));
      createInterface(child.stdout!).on('line', (line) => line.includes('Ready to accept connections') && resolve());
    });
  }

  override signal(signal: NodeJS.Signals): void {
    this.isHanging = signal === 'SIGSTOP';
    super.signal(signal);
  }

  override async remove(): Promise<void> {
    const { child, config, port, directory } = this;
    const isReusable = child && config && !isEnding && !this.isHanging;
    if (!isReusable || !(await isMadeNew(port, config))) return super.remove();
    await rm(join(directory, 'dump.rdb'), { force: true });
    this.child = undefined;
    const key = this.settings.join(' ');
    idle.set(key, [...(idle.get(key) ?? []), { child, config, port, directory }]);
  }

  /** Ends the processes that wait for another test. What is removed from here on ends at once. */
  static async end(): Promise<void> {
    isEnding = true;
    const all = [...idle.values()].flat();
    await Promise.all(
      all.map(({ child, port, directory }) => {
        const ending = new RedisProcess(port, directory, []);
        ending.child = child;
        return ending.remove();
      }),
    );
  }
}

// This hook runs before those of the file.
afterAll(() => RedisProcess.end());

/** Makes a Redis as good as a new one, without clients. Resolves with false if that is not possible. */
async function isMadeNew(port: number, config: Config): Promise<boolean> {
  const made = await onConnection(port, async (redis) => {
    if (LASTING.test(await redis.info('commandstats'))) return false;
    const changed = Object.entries(await configOf(redis)).filter(([name, value]) => value !== config[name]);
    for (const [name] of changed) await redis.config('SET', name, config[name]!);
    await redis.call('CLIENT', 'KILL', 'SKIPME', 'yes');
    await redis.flushall();
    await redis.script('FLUSH');
    await redis.config('RESETSTAT');
    return true;
  });
  return made ?? false;
}

async function configOf(redis: Redis): Promise<Config> {
  const pairs = (await redis.config('GET', '*')) as string[];
  return Object.fromEntries(pairs.flatMap((name, at) => (at % 2 === 0 ? [[name, pairs[at + 1]!]] : [])));
}

/** Resolves with undefined if Redis does not do what it is asked for. */
async function onConnection<T>(port: number, work: (redis: Redis) => Promise<T>): Promise<T | undefined> {
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

/** A Redis Cluster of three masters. */
export class RedisCluster {
  private constructor(readonly processes: readonly RedisProcess[]) {}

  /** @param options.replicas whether each master has a replica too, in the last three processes */
  static async start({ replicas = false } = {}): Promise<RedisCluster> {
    const processes = await Promise.all(
      Array.from({ length: replicas ? 6 : 3 }, async () => {
        // By itself it would listen on the port plus 10,000, which may be none.
        const cluster = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000', '--cluster-port'];
        return RedisProcess.start(...cluster, `${await freePort()}`, '--repl-diskless-sync-delay', '0');
      }),
    );
    const cluster = new RedisCluster(processes);
    await cluster.join();
    return cluster;
  }

  /** Two of the nodes, as REDIS_URL takes them. */
  get url(): string {
    return `${this.processes[0]!.url},${this.processes[1]!.url}`;
  }

  async remove(): Promise<void> {
    await Promise.all(this.processes.map((redis) => redis.remove()));
  }

  private async join(): Promise<void> {
    const nodes = this.processes.map((redis) => new Redis(redis.port, '127.0.0.1'));
    const replicas = [...nodes.keys()].slice(3);
    try {
      const ids = (await Promise.all(nodes.map((node) => node.call('CLUSTER', 'MYID')))) as string[];
      for (const [index, [first, last]] of [
        [0, 5460],
        [5461, 10_922],
        [10_923, 16_383],
      ].entries()) {
        await nodes[index]!.call('CLUSTER', 'ADDSLOTSRANGE', first!, last!);
      }
      for (const [index, node] of nodes.entries()) {
        await node.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
      }
      for (const redis of this.processes.slice(1)) {
        const [, busPort] = clusterPort(await nodes[this.processes.indexOf(redis)]!.call('CLUSTER', 'NODES'));
        await nodes[0]!.call('CLUSTER', 'MEET', '127.0.0.1', redis.port, busPort!);
      }
      for (const node of nodes) {
        await until(async () =>
          String(await node.call('CLUSTER', 'INFO')).includes(`cluster_known_nodes:${nodes.length}`),
        );
      }
      for (const index of replicas) {
        await until(() =>
          nodes[index]!.call('CLUSTER', 'REPLICATE', ids[index - 3]!).then(
            () => true,
            () => false,
          ),
        );
      }
      for (const node of nodes) {
        await until(async () => String(await node.call('CLUSTER', 'INFO')).includes('cluster_state:ok'));
        await until(
          async () => (String(await node.call('CLUSTER', 'NODES')).match(/slave /g) ?? []).length === replicas.length,
        );
      }
      for (const node of nodes.slice(3)) {
        await until(async () => String(await node.call('INFO', 'replication')).includes('master_link_status:up'));
      }
    } finally {
      for (const node of nodes) node.disconnect();
    }
  }
}

/** The ports of the node that answered CLUSTER NODES, whose line says `myself`: `id host:port@busport …`. */
function clusterPort(reply: unknown): number[] {
  const line = String(reply)
    .split('\n')
    .find((one) => one.includes('myself'))!;
  return line
    .match(/:(\d+)@(\d+)/)!
    .slice(1)
    .map(Number);
}

/** Resolves when a connection to Redis is the only one. */
export async function untilAlone(observer: Redis): Promise<void> {
  await until(
    async () =>
      String(await observer.client('LIST'))
        .trim()
        .split('\n').length === 1,
  );
}
