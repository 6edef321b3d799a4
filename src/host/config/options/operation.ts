import { duration, oneOf } from '../values.js';
import { option } from './option.js';

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** The log, and how workers are replaced. */
export const operation = {
  logLevel: option({
    name: 'LOG_LEVEL',
    description: 'Lowest level that is logged.',
    default: 'info',
    accepts: `one of ${logLevels.join(', ')}`,
    schema: oneOf(logLevels, 'info'),
  }),
  drainTimeout: option({
    name: 'DRAIN_TIMEOUT',
    description:
      'How long a worker that stops or is replaced may take to move its clients elsewhere: a number with ms, s, m ' +
      'or h; 0 disconnects clients at once.',
    default: '10s',
    accepts: '0, or a number with ms, s, m or h up to 24h, such as 10s',
    schema: duration('10s').refine((ms) => ms <= 86_400_000),
  }),
  reloadSettle: option({
    name: 'RELOAD_SETTLE',
    description:
      'How long new workers must run during a reload before they replace the old ones. If one of them ends earlier or ' +
      'is not ready, the reload is aborted and the old workers stay. A number with ms, s, m or h; with 0, they ' +
      'only have to listen and be ready.',
    default: '5s',
    accepts: '0, or a number with ms, s, m or h up to 1h, such as 5s',
    schema: duration('5s').refine((ms) => ms <= 3_600_000),
  }),
} as const;
