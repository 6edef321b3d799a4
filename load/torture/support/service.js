import { fileURLToPath } from 'node:url';
import {
  cleanEnvironment,
  ON_LOOPBACK,
  program,
  RunningService,
  WITHOUT_LIMITS,
} from '../../../test/support/service.js';

/** The environment of a service. Reloads are quick where the scenario does not set `RELOAD_SETTLE` itself. */
export const bareEnvironment = () => ({ ...cleanEnvironment(), RELOAD_SETTLE: '200ms' });

const rooms = fileURLToPath(new URL('../application/app.mjs', import.meta.url));

/** The chat service, or an application under `gjallar run`, on a port of its own on the loopback interface. */
export class Service extends RunningService {
  #hasAdminPort = false;

  /**
   * Resolves when it listens, and its admin port too if the environment has `ADMIN_PORT`.
   * @param {object} options those of `RunningService`, beside these
   * @param {Record<string, string>} [options.environment]
   * @param {string} [options.app] an application that `gjallar run` runs
   */
  static async open({ environment = {}, app, ...options }) {
    const env = { ...bareEnvironment(), ...ON_LOOPBACK, ...environment };
    const given = { env, ...(app && { main: app, nodeOptions: [program, 'run'] }), ...options };
    const service = new Service(given);
    service.#hasAdminPort = 'ADMIN_PORT' in environment;
    return service.start();
  }

  /** See `RunningService`. The admin port is another one each time. */
  async start() {
    const from = this.log.length;
    await super.start();
    if (this.#hasAdminPort) {
      const { port } = await this.logged(({ msg }) => msg === 'the admin port is open', from);
      this.admin = `http://127.0.0.1:${port}`;
    }
    return this;
  }

  /** The service as `npm start` runs it, with two workers. */
  static start({ environment, ...options }) {
    return Service.open({ environment: { WORKERS: '2', ...WITHOUT_LIMITS, ...environment }, ...options });
  }

  /** An application under `gjallar run`: by default, one whose clients talk in one room. */
  static host({ workers, environment, app = rooms }) {
    const own = { ADMIN_PORT: '0', RATE_LIMIT: 'off', ...environment };
    return Service.open({ app, environment: own, args: ['--workers', `${workers}`] });
  }

  /** The primary's process id. */
  get primary() {
    return this.process.pid;
  }

  /** The workers that respond, each with its id and its process id. */
  async workers() {
    const { workers } = await (await this.#get('/api/stats')).json();
    return workers.filter(({ pid }) => pid !== undefined);
  }

  /** What /readyz has in `problems` and `warnings`; undefined if there is no answer. */
  async readiness() {
    try {
      return await (await this.#get('/readyz', AbortSignal.timeout(3000))).json();
    } catch {
      return undefined;
    }
  }

  /** A response of the admin port, if there is one, or of the service. */
  #get(path, signal = undefined) {
    return fetch(`${this.admin ?? this.url}${path}`, { headers: { Connection: 'close' }, signal });
  }

  /** The sum of a metric over all workers. @param {RegExp} line matches a line, and captures its value */
  async metric(line) {
    const metrics = await (await this.#get('/metrics')).text();
    return [...metrics.matchAll(line)].reduce((sum, [, value]) => sum + Number(value), 0);
  }
}
