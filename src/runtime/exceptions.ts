import type { Logger } from 'pino';
import { counter, type Metric } from '../operations/metrics/metric.js';

/** So many exceptions in a minute are logged in full; the others are counted. */
const MAX_LOGGED = 20;
const MINUTE_MS = 60_000;

/**
 * Lets the worker go on after an exception that no handler has caught. All clients of a worker must not lose their
 * connection because of what one of them has sent.
 * @returns how many there were, for the metrics
 */
export function surviveExceptions(log: Logger): Metric[] {
  let count = 0;
  let logged = 0;
  setInterval(() => {
    logged = 0;
  }, MINUTE_MS).unref();
  const onError = (kind: string) => (error: unknown) => {
    count++;
    logged++;
    if (logged <= MAX_LOGGED) log.error({ error, kind }, 'an error was not handled; the worker goes on');
  };
  process.on('uncaughtException', onError('exception'));
  process.on('unhandledRejection', onError('rejection'));
  return [
    counter('gjallar_unhandled_errors_total', 'Exceptions and rejections that no handler has caught.', () => count),
  ];
}
