import type { Logger } from 'pino';
import { counter, type Metric } from '../operations/metrics/metric.js';

/** How many exceptions in a minute are logged. The others are only counted. */
const MAX_LOGGED = 20;
const MINUTE_MS = 60_000;

/**
 * Keeps the worker running after an exception that no handler has caught. What one client sends must not disconnect all
 * clients of its worker.
 * @returns the metric that counts them
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
    if (logged <= MAX_LOGGED) log.error({ error, kind }, 'unhandled error; the worker continues');
  };
  process.on('uncaughtException', onError('exception'));
  process.on('unhandledRejection', onError('rejection'));
  return [counter('gjallar_unhandled_errors_total', 'Exceptions and rejections that no handler caught.', () => count)];
}
