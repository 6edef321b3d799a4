import { GjallarError } from '../errors.js';

export type HistoryErrorCode = 'HISTORY_UNAVAILABLE' | 'HISTORY_REFUSED' | 'HISTORY_UNCERTAIN';

/**
 * A call of the history failed. With `HISTORY_UNCERTAIN`, its messages may have been kept; with the other codes, nothing
 * was. Clients get the code and the message of the list of errors. The error of the database is the `cause`, for the log.
 */
export class HistoryError extends GjallarError {
  declare readonly code: HistoryErrorCode;

  constructor(code: HistoryErrorCode, cause?: unknown) {
    super(code);
    this.name = 'HistoryError';
    this.cause = cause;
  }
}
