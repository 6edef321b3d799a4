import type { ErrorCode } from '../errors.js';

/** What the chat of one worker counts, since its start. */
export class ChatCounters {
  /** Messages that were said here: kept, where messages are kept. */
  roomMessages = 0;
  directMessages = 0;
  /** Events of clients that failed, by the code that they were answered with. */
  readonly failures = new Map<ErrorCode, number>();

  failed(code: ErrorCode): void {
    this.failures.set(code, (this.failures.get(code) ?? 0) + 1);
  }
}
