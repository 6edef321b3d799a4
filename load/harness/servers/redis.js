import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../ports.js';
import { end, own } from '../process/at-exit.js';

const KEPT = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** Whether there is a redis-server on this machine. */
export function hasRedis() {
  return spawnSync('redis-server', ['--version']).status === 0;
}

/** A Redis that keeps on disk what it has confirmed, unless other settings say otherwise. */
export class Redis {
  #child;
  #args;
  #launch;
  #isTemporary;

  /**
   * @param {{ directory?: string, host?: string, port?: number, launch?: typeof spawn, settings?: string[] }} [options]
   *   without a `directory`, it gets one that `stop()` removes
   */
  static async start({ directory, host = '127.0.0.1', port, launch = spawn, settings = KEPT } = {}) {
    const redis = new Redis();
    redis.#isTemporary = directory === undefined;
    redis.directory = directory ?? mkdtempSync(join(tmpdir(), 'gjallar-redis-'));
    redis.port = port ?? (await freePort(host));
    const basics = ['--bind', host, '--port', `${redis.port}`, '--protected-mode', 'no', '--dir', redis.directory];
    redis.#args = [...basics, '--save', '', ...settings];
    redis.#launch = launch;
    redis.url = `redis://${host}:${redis.port}`;
    await redis.begin();
    return redis;
  }

  /** Starts it with what its directory has. */
  async begin() {
    const child = own(this.#launch('redis-server', this.#args, { stdio: ['ignore', 'pipe', 'inherit'] }));
    this.#child = child;
    await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)));
      createInterface(child.stdout).on('line', (line) => line.includes('Ready to accept connections') && resolve());
    });
  }

  get pid() {
    return this.#child.pid;
  }

  signal(signal) {
    this.#child.kill(signal);
  }

  async kill() {
    await end(this.#child);
  }

  async restart() {
    await this.kill();
    await this.begin();
  }

  /** Ends it for good. */
  async stop() {
    await this.kill();
    if (this.#isTemporary) rmSync(this.directory, { recursive: true, force: true });
  }
}
