import type { Logger } from 'pino';
import { redisNamesOf } from '../../config/redis-names.js';
import type { RunConfig } from '../../config/run-options.js';
import type { Warnings } from '../../operations/warnings.js';
import type { StateStoreHost } from '../../rooms/state-store.js';

/** How long `/readyz` shows that Redis has lost what it had, in ms. */
const LOST_MS = 600_000;
/** How often the log says so, in ms: each room notices it. */
const LOG_MS = 10_000;

/** State rooms of this worker are stored in its Redis, and their outages are told as others are. */
export function stateStoreHost(
  config: RunConfig,
  { problems, warnings, log }: { problems: Set<string>; warnings: Warnings; log: Logger },
): StateStoreHost {
  let loggedAt = Number.NEGATIVE_INFINITY;
  return {
    redisUrl: config.redisUrl,
    keyPrefix: redisNamesOf(config).keys,
    onDown: (problem, reason, former) => {
      if (former) problems.delete(former);
      problems.add(problem);
      log.error({ reason }, problem);
    },
    onUp: (problem) => {
      problems.delete(problem);
      log.info(`over: ${problem}`);
    },
    onLost: (warning, room) => {
      warnings.note(warning, LOST_MS);
      const now = performance.now();
      if (now - loggedAt < LOG_MS) return;
      loggedAt = now;
      log.warn({ room }, warning);
    },
  };
}
