import { fileURLToPath } from 'node:url';
import { own } from '../../harness/at-exit.js';
import { program, startService } from '../../harness/service.js';
import { LogLines } from './log-lines.js';
import { bareEnvironment } from './service.js';

const rooms = fileURLToPath(new URL('../application/app.mjs', import.meta.url));

/** An application under `gjallar run`. */
export class Hosted {
  #running;
  #log = new LogLines();

  /** @param {{ workers: number, environment?: Record<string, string>, app?: string }} options */
  static async start({ workers, environment = {}, app = rooms }) {
    const hosted = new Hosted();
    hosted.#running = await startService({
      env: { ...bareEnvironment(), ADMIN_PORT: '0', RATE_LIMIT: 'off', ...environment },
      nodeOptions: [program, 'run'],
      main: app,
      args: ['--workers', String(workers)],
      onLine: (line, stream) => (stream === 'stderr' ? console.error(line) : hosted.#log.add(line)),
      onSpawn: own,
    });
    const admin = await hosted.#log.until((line) => line.includes('the admin port is open'));
    hosted.admin = `http://127.0.0.1:${JSON.parse(admin).port}`;
    return hosted;
  }

  get url() {
    return this.#running.url;
  }

  /** The process id of the primary. */
  get pid() {
    return this.#running.pid;
  }

  /** The workers that respond, each with its id and its process id. */
  async workers() {
    const { workers } = await (await fetch(`${this.admin}/api/stats`)).json();
    return workers.filter(({ pid }) => pid !== undefined);
  }

  async reload() {
    const from = this.#log.length;
    process.kill(this.#running.pid, 'SIGHUP');
    const line = await this.#log.until((line) => /"msg":"reload (finished|aborted)/.test(line), from);
    if (line.includes('reload aborted')) throw new Error(line);
  }

  async stop() {
    await this.#running.stop();
  }
}
