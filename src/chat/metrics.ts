import type { Metric } from '../operations/metrics/metric.js';
import type { Chat } from './chat.js';

/** What is said, and what is refused. */
export function chatMetrics({ counters }: Chat): Metric[] {
  return [
    {
      name: 'gjallar_chat_messages_total',
      type: 'counter',
      help: 'Messages that were said, in whatever way: kept, where messages are kept.',
      labels: ['kind'],
      read: () => [
        ['room', counters.roomMessages],
        ['direct', counters.directMessages],
      ],
    },
    {
      name: 'gjallar_chat_failures_total',
      type: 'counter',
      help: 'Events of clients that failed, by the code of the answer.',
      labels: ['code'],
      read: () => counters.failures,
    },
  ];
}
