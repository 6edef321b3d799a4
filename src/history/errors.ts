import { GjallarError } from '../errors.js';

export type HistoryErrorCode = 'HISTORY_UNAVAILABLE' | 'HISTORY_REFUSED' | 'HISTORY_UNCERTAIN';

/**
 * Why the history did not do what it was asked to. Only after `HISTORY_UNCERTAIN` may something have been kept. Clients
 * get the code and the message of the list of errors; what the database said is the `cause`, which is for the log.
 */
export class HistoryError extends GjallarError {
  declare readonly code: HistoryErrorCode;

  constructor(code: HistoryErrorCode, cause?: unknown) {
    super(code);
    this.name = 'HistoryError';
    this.cause = cause;
  }
}
