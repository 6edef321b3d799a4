import { until } from '../../harness/until.js';
import { RunningService } from '../support/service.js';

/** A server that faults are injected into, one after the other. */
export class Station extends RunningService {
  /** @param {{ name: string, environment?: Record<string, string>, prefix?: string[] }} options */
  static async start({ name, environment = {}, prefix }) {
    const own = { WORKERS: '1', ADMIN_PORT: '0', DRAIN_TIMEOUT: '0', ...environment };
    const station = await Station.open({ environment: own, prefix });
    station.name = name;
    return station;
  }

  /** What /readyz has in `problems` and `warnings`; undefined if there is no answer. */
  async readiness() {
    try {
      const response = await fetch(`${this.admin}/readyz`, { signal: AbortSignal.timeout(3000) });
      const { problems, warnings } = await response.json();
      return { problems, warnings };
    } catch {
      return undefined;
    }
  }

  /** Resolves once nothing is down. */
  async recovered() {
    const isUp = async () => (await this.readiness())?.problems?.length === 0;
    await until(isUp, `${this.name} did not recover`, 40_000);
  }
}
