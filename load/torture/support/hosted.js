import { fileURLToPath } from 'node:url';
import { RunningService } from './service.js';

/** An application whose clients talk in one room. */
export const rooms = fileURLToPath(new URL('../application/app.mjs', import.meta.url));

/** An application under `gjallar run`. */
export class Hosted extends RunningService {
  /** @param {{ workers: number, environment?: Record<string, string>, app?: string }} options */
  static start({ workers, environment = {}, app = rooms }) {
    const own = { ADMIN_PORT: '0', RATE_LIMIT: 'off', ...environment };
    return Hosted.open({ app, environment: own, args: ['--workers', String(workers)] });
  }

  /** Reloads the workers, and fails if that is aborted. */
  async reload() {
    const end = await super.reload();
    if (end.msg.startsWith('reload aborted')) throw new Error(JSON.stringify(end));
  }

  onError(line) {
    console.error(line);
  }
}
