import { oneOf } from '../../../base/options.js';
import { duration } from '../values.js';
import { option } from './option.js';

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** The log, and how workers are replaced. */
export const operation = {
  logLevel: option({
    name: 'LOG_LEVEL',
    description: 'Lowest level that is logged.',
    kind: oneOf(logLevels),
    fallback: 'info',
    isOfRun: true,
  }),
  startTimeout: option({
    name: 'START_TIMEOUT',
    description:
      'How long the start of a worker may keep its event loop busy. Then the worker counts as hung and is replaced. One ' +
      'that uses no CPU counts as hung after 30 s. A number with ms, s, m or h; 0 is no limit.',
    default: '5m',
    kind: duration('5m', 86_400_000),
    fallback: 300_000,
    isOfRun: true,
  }),
  drainTimeout: option({
    name: 'DRAIN_TIMEOUT',
    description:
      'How long a worker that stops or is replaced may take to move its clients elsewhere: a number with ms, s, m ' +
      'or h; 0 disconnects clients at once.',
    default: '10s',
    kind: duration('10s', 86_400_000),
    fallback: 10_000,
    isOfRun: true,
  }),
  reloadSettle: option({
    name: 'RELOAD_SETTLE',
    description:
      'How long new workers must run during a reload before they replace the old ones. If one of them ends earlier or ' +
      'is not ready, the reload is aborted and the old workers stay. A number with ms, s, m or h; with 0, they ' +
      'only have to listen and be ready.',
    default: '5s',
    kind: duration('5s', 3_600_000),
    fallback: 5000,
    isOfRun: true,
  }),
} as const;
