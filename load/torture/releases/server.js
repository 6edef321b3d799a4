import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { own } from '../../harness/at-exit.js';
import { program, startService, WITHOUT_LIMITS } from '../../harness/service.js';
import { LogLines } from '../support/log-lines.js';
import { bareEnvironment } from '../support/service.js';

const fault = fileURLToPath(new URL('fault.cjs', import.meta.url));
const app = fileURLToPath(new URL('../application/app.mjs', import.meta.url));

/** The chat service, or an application under `gjallar run`, whose next release may be at fault. */
export class ReleasedServer {
  #folder = mkdtempSync(join(tmpdir(), 'torture-release-'));
  #log = new LogLines();
  #running;

  /** @param {{ isHosted: boolean, environment: Record<string, string> }} options */
  static async start({ isHosted, environment }) {
    const server = new ReleasedServer();
    server.install({ fault: 'none' });
    const release = { ADMIN_PORT: '0', RELEASE: server.#release, NODE_OPTIONS: `--require ${fault}` };
    server.#running = await startService({
      env: { ...bareEnvironment(), ...WITHOUT_LIMITS, ...release, ...environment },
      ...(isHosted && { nodeOptions: [program, 'run'], main: app }),
      onLine: (line) => server.#hear(line),
      onSpawn: own,
    });
    const { port } = await server.#log.until(({ msg }) => msg === 'the admin port is open');
    server.admin = `http://127.0.0.1:${port}`;
    return server;
  }

  get #release() {
    return join(this.#folder, 'release');
  }

  get url() {
    return this.#running.url;
  }

  /** Workers that start from now on run this release. */
  install(release) {
    writeFileSync(this.#release, JSON.stringify(release));
  }

  #hear(text) {
    if (!text.startsWith('{"level"')) return;
    this.#log.add(JSON.parse(text));
  }

  /** Reloads the workers. Resolves with the log line that the reload ends with. */
  reload(signals = 1) {
    const from = this.#log.length;
    for (let n = 0; n < signals; n++) process.kill(this.#running.pid, 'SIGHUP');
    return this.#log.until(({ msg }) => /^reload (finished|aborted)/.test(msg), from);
  }

  /** The process ids of the workers that respond, in order. */
  async pids() {
    const { workers } = await (await fetch(`${this.admin}/api/stats`)).json();
    return workers.flatMap(({ pid = [] }) => pid).sort((one, other) => one - other);
  }

  async stop() {
    await this.#running?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
