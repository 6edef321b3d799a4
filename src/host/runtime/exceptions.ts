import type { Logger } from 'pino';
import type { Readings } from '../../base/figures.js';
import { type BackgroundFailure, failures } from '../../base/owner.js';

/** How many errors in a minute are logged. The others are only counted. */
const MAX_LOGGED = 20;
const MINUTE_MS = 60_000;

/** Counts and logs errors that no caller gets. */
class LostErrors {
  readonly readings = (): Readings => ({ gjallar_unhandled_errors_total: this.count });
  private count = 0;
  private logged = 0;

  constructor(private readonly log: Logger) {
    setInterval(() => {
      this.logged = 0;
    }, MINUTE_MS).unref();
    failures.subscribe((failure) => {
      const { work, error } = failure as BackgroundFailure;
      this.note({ error }, `${work} failed; the process continues`);
    });
  }

  note(fields: object, message: string): void {
    this.count++;
    this.logged++;
    if (this.logged <= MAX_LOGGED) this.log.error(fields, message);
  }
}

/**
 * Logs what fails in the background of this process.
 * @returns the figure that counts it
 */
export function logFailures(log: Logger): () => Readings {
  return new LostErrors(log).readings;
}

/**
 * The same, and keeps the worker running after an exception that no handler has caught. What one client sends must not
 * disconnect all clients of its worker.
 */
export function surviveExceptions(log: Logger): () => Readings {
  const lost = new LostErrors(log);
  const onError = (kind: string) => (error: unknown) => {
    lost.note({ error, kind }, 'unhandled error; the worker continues');
  };
  process.on('uncaughtException', onError('exception'));
  process.on('unhandledRejection', onError('rejection'));
  return lost.readings;
}
