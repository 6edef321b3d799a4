import { integer, oneOf } from '../../../base/options.js';
import { memoryLimit } from '../../../base/system-limits.js';
import { rates } from '../../../engine/limits/rates.js';
import { engineOptions } from '../../../engine/options.js';
import { option } from './option.js';

const slowPolicies = ['close', 'drop-volatile'] as const;

/** Bounds for clients, and what happens beyond them. */
export const limits = {
  maxPayload: option({
    name: 'MAX_PAYLOAD',
    description:
      'Largest message that a client may send, in bytes. Beyond it, a request gets the status 413, and a WebSocket ' +
      'is closed.',
    kind: integer(1024, 134_217_728, 'bytes'),
    fallback: 1_000_000,
    isOfRun: true,
  }),
  maxBackpressure: option({
    name: 'MAX_BACKPRESSURE',
    description: 'Number of bytes that may wait for one client. Beyond it, its connection ends.',
    kind: integer(16_384, 1_073_741_824, 'bytes'),
    fallback: 1_048_576,
    isOfRun: true,
  }),
  maxBuffered: option({
    name: 'MAX_BUFFERED',
    description:
      'Maximum number of bytes that may wait for and from all clients of this machine together. Above it, the ' +
      'server disconnects the clients with the most buffered data. 0 sets no limit for the bytes that wait for ' +
      'clients.',
    default: 'a quarter of the memory',
    kind: integer(0, 1_099_511_627_776, 'bytes'),
    fallback: Math.floor(memoryLimit() / 4),
    isOfRun: true,
  }),
  slowPolicy: option({
    name: 'SLOW_POLICY',
    description:
      'What happens to a client for which more than MAX_BACKPRESSURE bytes wait: close ends its connection; ' +
      'drop-volatile also ends it, but drops presence events as soon as anything waits for the client.',
    kind: oneOf(slowPolicies),
    fallback: 'close',
  }),
  rateLimit: option({
    name: 'RATE_LIMIT',
    description:
      'Limits for the events and bytes of each client and for new connections from each address, such as ' +
      'events=50/s,bytes=100000/s,connections=60/m. Each amount is also the largest burst. Each worker allows its share of the connections. If RATE_LIMIT is unset, ' +
      'the limit of bytes is at least four times MAX_PAYLOAD. off sets no limits.',
    default: 'events=2000/s,bytes=4000000/s',
    kind: rates,
    fallback: { events: { amount: 2000, per: 1000 }, bytes: { amount: 4_000_000, per: 1000 } },
    isOfRun: true,
  }),
  maxConnectionsPerIp: option({
    name: 'MAX_CONNECTIONS_PER_IP',
    description:
      'Maximum number of simultaneous clients of one address on this machine: an IPv4 address, or the first 64 bits ' +
      'of an IPv6 address. Each worker allows the number divided by WORKERS, rounded up. Further clients get the ' +
      'status 429. 0 sets no limit.',
    kind: engineOptions.maxConnectionsPerIp.kind,
    fallback: 10_000,
    isOfRun: true,
  }),
  flushMs: option({
    name: 'FLUSH_MS',
    description:
      'Longest time in ms that a busy worker holds outgoing messages, so that it can send them together. 0 sends ' +
      'each one at once.',
    kind: integer(0, 1000),
    fallback: 25,
    isOfRun: true,
  }),
} as const;
