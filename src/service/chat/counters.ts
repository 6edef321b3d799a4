import type { ErrorCode } from '../../base/errors.js';

/** The counts of one worker's chat since its start. */
export class ChatCounters {
  /** Messages posted here; with a history, only stored ones. */
  roomMessages = 0;
  directMessages = 0;
  /** Failed events of clients, by error code. */
  readonly failures = new Map<ErrorCode, number>();

  /** Pages of the history that lack messages after the reader's position, by what became of these. */
  readonly incomplete = { lost: 0, trimmed: 0 };

  failed(code: ErrorCode): void {
    this.failures.set(code, (this.failures.get(code) ?? 0) + 1);
  }
}
