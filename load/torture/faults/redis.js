import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { own } from '../support/at-exit.js';

/** A Redis that keeps on disk what it has confirmed. */
export class Redis {
  #child;
  #args;
  #launch;

  /** @param {{ directory: string, host: string, port: number, launch?: typeof spawn }} options */
  static async start({ directory, host, port, launch = spawn }) {
    const redis = new Redis();
    const kept = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
    redis.#args = ['--bind', host, '--port', String(port), '--protected-mode', 'no', '--dir', directory, ...kept];
    redis.#launch = launch;
    redis.url = `redis://${host}:${port}`;
    await redis.#begin();
    return redis;
  }

  async #begin() {
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
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }

  async restart() {
    await this.kill();
    await this.#begin();
  }
}
