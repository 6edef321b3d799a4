import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/ports.js';
import { end, lineWith } from './process.js';

/** A real Redis of the test's own: on the loopback, with a directory of its own. */
export class RedisServer {
  readonly port: number;
  readonly #directory: string;
  readonly #settings: string[];
  #child: ChildProcess | undefined;

  private constructor(port: number, directory: string, settings: string[]) {
    this.port = port;
    this.#directory = directory;
    this.#settings = settings;
  }

  static async start(...settings: string[]): Promise<RedisServer> {
    const directory = await mkdtemp(join(tmpdir(), 'gjallar-history-redis-'));
    const server = new RedisServer(await freePort(), directory, settings);
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts it again, with what it had kept. */
  async start(): Promise<void> {
    const settings = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--dir', this.#directory, '--save', ''];
    this.#child = spawn('redis-server', [...settings, ...this.#settings], { stdio: ['ignore', 'pipe', 'inherit'] });
    await lineWith(this.#child, 'Ready to accept connections');
  }

  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.#child) await end(this.#child, signal);
  }

  /** `SIGSTOP` makes it hang, `SIGCONT` go on. */
  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async remove(): Promise<void> {
    this.signal('SIGCONT');
    await this.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }
}
