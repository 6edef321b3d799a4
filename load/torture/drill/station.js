import { setTimeout as sleep } from 'node:timers/promises';
import { own } from '../../harness/at-exit.js';
import { startService } from '../../harness/service.js';
import { bareEnvironment, RunningService } from '../support/service.js';

/** A server that faults are injected into, one after the other. */
export class Station extends RunningService {
  /** The log: objects with the time at which the line came. */
  lines = [];
  /** The process ids of the workers. */
  pids = new Map();

  /** @param {{ name: string, environment?: Record<string, string>, prefix?: string[] }} options */
  static async start({ name, environment = {}, prefix }) {
    const station = new Station();
    station.name = name;
    station.running = await startService({
      env: { ...bareEnvironment(), WORKERS: '1', ADMIN_PORT: '0', DRAIN_TIMEOUT: '0', ...environment },
      prefix,
      onLine: (line) => station.#hear(line),
      onSpawn: own,
    });
    while (!station.adminPort) await sleep(20);
    return station;
  }

  #hear(text) {
    if (!text.startsWith('{')) return;
    const line = JSON.parse(text);
    this.lines.push({ ...line, heardAt: Date.now() });
    if (line.msg === 'listening') this.pids.set(line.worker, line.pid);
    if (line.msg === 'the admin port is open') this.adminPort = line.port;
  }

  get admin() {
    return `127.0.0.1:${this.adminPort}`;
  }

  /** The texts in `problems` and `warnings` of /readyz; undefined if there is no answer. */
  async readiness() {
    try {
      const response = await fetch(`http://${this.admin}/readyz`, { signal: AbortSignal.timeout(3000) });
      const { problems, warnings } = await response.json();
      return { problems, warnings };
    } catch {
      return undefined;
    }
  }

  /** Resolves once nothing is down. */
  async recovered() {
    const end = Date.now() + 40_000;
    for (;;) {
      const { problems } = (await this.readiness()) ?? {};
      if (problems?.length === 0) return;
      if (Date.now() > end) throw new Error(`${this.name} did not recover: ${problems}`);
      await sleep(200);
    }
  }
}
