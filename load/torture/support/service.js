import { fileURLToPath } from 'node:url';
import { cleanEnvironment, ON_LOOPBACK, program, RunningService } from '../../../test/support/service.js';

/** The environment of a service. Reloads are quick where the scenario does not set `RELOAD_SETTLE` itself. */
export const bareEnvironment = () => ({ ...cleanEnvironment(), RELOAD_SETTLE: '200ms' });

const rooms = fileURLToPath(new URL('../application/app.mjs', import.meta.url));

/** The chat service, or an application under `gjallar run`, on a port of its own on the loopback interface. */
export class Service extends RunningService {
  #hasAdminPort = false;

  /**
   * @param {object} options those of `RunningService`, beside these
   * @param {Record<string, string>} options.environment
   * @param {string} [options.app] an application that `gjallar run` runs
   */
  constructor({ environment, app, ...options }) {
    const env = { ...bareEnvironment(), ...ON_LOOPBACK, ...environment };
    super({ env, ...(app && { main: app, nodeOptions: [program, 'run'] }), ...options });
    this.#hasAdminPort = 'ADMIN_PORT' in environment;
  }

  /** Resolves when it listens, and its admin port too if its environment has `ADMIN_PORT`: another one each time. */
  async start() {
    const from = this.log.length;
    await super.start();
    if (this.#hasAdminPort) {
      const { port } = await this.logged(({ msg }) => msg === 'the admin port is open', from);
      this.admin = `http://127.0.0.1:${port}`;
    }
    return this;
  }

  /** An application under `gjallar run`, by default one whose clients talk in one room. */
  static host({ workers, app = rooms, environment }) {
    const own = { ADMIN_PORT: '0', RATE_LIMIT: 'off', ...environment };
    return new Service({ app, environment: own, args: ['--workers', `${workers}`] }).start();
  }

  /** The primary's process id. */
  get primary() {
    return this.process.pid;
  }

  /** The workers that respond, each with its id and its process id. */
  async workers() {
    const response = await fetch(`${this.admin ?? this.url}/api/stats`, { headers: { Connection: 'close' } });
    const { workers } = await response.json();
    return workers.filter(({ pid }) => pid !== undefined);
  }
}
