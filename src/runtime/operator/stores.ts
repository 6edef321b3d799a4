import type { Logger } from 'pino';
import { redisNamesOf } from '../../config/redis-names.js';
import type { RunConfig } from '../../config/run-options.js';
import type { Warnings } from '../../operations/warnings.js';
import type { StateStoreHost } from '../../rooms/stores.js';

/** How long `/readyz` shows that a store has lost what it had, in ms. */
const STATE_LOST_MS = 600_000;
/** How often the log says so, in ms: each room notices it. */
const LOG_MS = 10_000;

/** Where a worker tells its operator what is down. */
interface Reports {
  readonly problems: Set<string>;
  readonly warnings: Warnings;
  readonly log: Logger;
}

/** State rooms of this worker are stored in its Redis, and their outages are told as others are. */
export function stateStoreHost(config: RunConfig, reports: Reports): StateStoreHost {
  const { problems, log } = reports;
  const noteLoss = lossNotes(reports, STATE_LOST_MS);
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
    onLost: (warning, room) => noteLoss(warning, { room }),
  };
}

/** @returns warns of a loss for this number of ms, and logs it now and then */
function lossNotes({ warnings, log }: Reports, ms: number): (warning: string, fields: object) => void {
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (warning, fields) => {
    warnings.note(warning, ms);
    const now = performance.now();
    if (now - loggedAt < LOG_MS) return;
    loggedAt = now;
    log.warn(fields, warning);
  };
}
