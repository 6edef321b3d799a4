import type { ErrorCode } from '../../base/errors.js';
import type { MachineWorker } from '../../host/index.js';
import type { Chat } from './chat.js';

/** The figures of posted messages and failed events. */
export function chatReadings({
  context: { counters },
}: Chat): ReturnType<Parameters<MachineWorker['figures']['add']>[0]> {
  return {
    gjallar_chat_messages_total: [
      ['room', counters.roomMessages],
      ['direct', counters.directMessages],
    ],
    gjallar_chat_failures_total: counters.failures,
    gjallar_history_incomplete_total: Object.entries(counters.incomplete),
  };
}

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
