import type { HistoryError } from './errors.js';

/** What the log of outages is told with, as a pino logger takes it. */
interface Log {
  error(fields: object, message: string): void;
  info(fields: object, message: string): void;
}

/** An outage is over when no call has failed for so long. */
const QUIET_MS = 5000;

/**
 * Logs the errors of a database once per outage, with what the database said: clients are told only the code. An outage
 * ends with the first call that succeeds a while after the last one that failed.
 */
export class OutageLog {
  private failures = 0;
  private lastFailure = 0;

  constructor(
    private readonly log: Log,
    /** What is out, such as "the history". */
    private readonly name: string,
  ) {}

  /** To be told of every call: the error, or undefined if it succeeded. */
  note(error: HistoryError | undefined): void {
    if (error) {
      this.failures++;
      this.lastFailure = Date.now();
      if (this.failures === 1) this.log.error({ error }, `${this.name} failed; further failures are not logged`);
    } else if (this.failures > 0 && Date.now() - this.lastFailure >= QUIET_MS) {
      this.log.info({ failures: this.failures }, `${this.name} works again`);
      this.failures = 0;
    }
  }
}
