import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { end, own } from '../at-exit.js';

const KEPT = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** A Redis that keeps on disk what it has confirmed, unless other settings say otherwise. */
export class Redis {
  #child;
  #args;
  #launch;

  /** @param {{ directory: string, host: string, port: number, launch?: typeof spawn, settings?: string[] }} options */
  static async start({ directory, host, port, launch = spawn, settings = KEPT }) {
    const redis = new Redis();
    const basics = ['--bind', host, '--port', String(port), '--protected-mode', 'no', '--dir', directory];
    redis.#args = [...basics, '--save', '', ...settings];
    redis.#launch = launch;
    redis.url = `redis://${host}:${port}`;
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
}
