import type { ErrorCode } from '../../base/errors.js';
import type { Metric } from '../../base/metric.js';
import { Tally } from '../../base/tally.js';
import type { Chat } from './chat.js';

/** The metrics of posted messages and failed events. */
export function chatMetrics({ counters }: Chat): Metric[] {
  return [
    {
      name: 'gjallar_chat_messages_total',
      type: 'counter',
      help: 'Messages posted over any interface; with a history, only stored ones.',
      labels: ['kind'],
      read: () => [
        ['room', counters.roomMessages],
        ['direct', counters.directMessages],
      ],
    },
    {
      name: 'gjallar_chat_failures_total',
      type: 'counter',
      help: 'Failed events of clients, by error code.',
      labels: ['code'],
      read: () => counters.failures,
    },
    {
      name: 'gjallar_history_incomplete_total',
      type: 'counter',
      help: 'Pages that lack messages after the position of the reader: lost with an earlier epoch, or trimmed.',
      labels: ['reason'],
      read: () => Object.entries(counters.incomplete),
    },
  ];
}

/** The counts of one worker's chat since its start. */
export class ChatCounters {
  /** Messages posted here; with a history, only stored ones. */
  roomMessages = 0;
  directMessages = 0;
  /** Failed events of clients, by error code. */
  readonly failures = new Tally<ErrorCode>();

  /** Pages of the history that lack messages after the reader's position, by what became of these. */
  readonly incomplete = { lost: 0, trimmed: 0 };

  failed(code: ErrorCode): void {
    this.failures.add(code);
  }
}
