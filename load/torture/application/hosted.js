import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { own } from '../support/at-exit.js';
import { bareEnvironment } from '../support/service.js';

const main = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const rooms = fileURLToPath(new URL('app.mjs', import.meta.url));

/** An application under `gjallar run`. */
export class Hosted {
  #child;
  #lines = [];
  #watchers = new Set();

  /** @param {{ workers: number, environment?: Record<string, string>, app?: string }} options */
  static async start({ workers, environment = {}, app = rooms }) {
    const hosted = new Hosted();
    const env = { ...bareEnvironment(), ADMIN_PORT: '0', RATE_LIMIT: 'off', ...environment };
    const child = own(
      spawn(process.execPath, [main, 'run', app, '--workers', String(workers)], {
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    );
    hosted.#child = child;
    createInterface(child.stdout).on('line', (line) => {
      hosted.#lines.push(line);
      for (const watcher of [...hosted.#watchers]) watcher();
    });
    const greeting = await hosted.#until((line) => line.includes('"gjallar: '));
    hosted.url = `http://127.0.0.1:${/on port (\d+)/.exec(greeting)[1]}`;
    const admin = await hosted.#until((line) => line.includes('the admin port is open'));
    hosted.admin = `http://127.0.0.1:${JSON.parse(admin).port}`;
    return hosted;
  }

  /** Resolves with the first line, from the given one on, that fits. */
  #until(fits, from = 0) {
    return new Promise((resolve) => {
      const check = () => {
        const line = this.#lines.slice(from).find(fits);
        if (line === undefined) return;
        this.#watchers.delete(check);
        resolve(line);
      };
      this.#watchers.add(check);
      check();
    });
  }

  /** The process id of the primary. */
  get pid() {
    return this.#child.pid;
  }

  /** The workers that respond, each with its id and its process id. */
  async workers() {
    const { workers } = await (await fetch(`${this.admin}/api/stats`)).json();
    return workers.filter(({ pid }) => pid !== undefined);
  }

  async reload() {
    const from = this.#lines.length;
    this.#child.kill('SIGHUP');
    const line = await this.#until((line) => /"msg":"reload (finished|aborted)/.test(line), from);
    if (line.includes('reload aborted')) throw new Error(line);
  }

  async stop() {
    if (this.#child.exitCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await exit;
  }
}
