import { memoryLimit } from '../../../base/system-limits.js';
import { integer, oneOf, rates } from '../values.js';
import { option } from './option.js';

export const slowPolicies = ['close', 'drop-volatile'] as const;

/** Bounds for clients, and what happens beyond them. */
export const limits = {
  maxPayload: option({
    name: 'MAX_PAYLOAD',
    description:
      'Largest message that a client may send, in bytes. Beyond it, a request gets the status 413, and a WebSocket ' +
      'is closed.',
    default: '1000000',
    accepts: 'an integer from 1024 to 134217728 (bytes)',
    schema: integer(1024, 134_217_728, 1_000_000),
  }),
  maxBackpressure: option({
    name: 'MAX_BACKPRESSURE',
    description: 'Number of bytes that may wait for one client. Beyond it, its connection ends.',
    default: '1048576',
    accepts: 'an integer from 16384 to 1073741824 (bytes)',
    schema: integer(16_384, 1_073_741_824, 1_048_576),
  }),
  maxBuffered: option({
    name: 'MAX_BUFFERED',
    description:
      'Maximum number of bytes that may wait for and from all clients of this machine together. Above it, the ' +
      'server disconnects the clients with the most buffered data. 0 sets no limit for the bytes that wait for ' +
      'clients.',
    default: 'a quarter of the memory',
    accepts: 'an integer from 0 to 1099511627776 (bytes)',
    schema: integer(0, 1_099_511_627_776, Math.floor(memoryLimit() / 4)),
  }),
  slowPolicy: option({
    name: 'SLOW_POLICY',
    description:
      'What happens to a client for which more than MAX_BACKPRESSURE bytes wait: close ends its connection; ' +
      'drop-volatile also ends it, but drops presence events as soon as anything waits for the client.',
    default: 'close',
    accepts: `one of ${slowPolicies.join(', ')}`,
    schema: oneOf(slowPolicies, 'close'),
  }),
  rateLimit: option({
    name: 'RATE_LIMIT',
    description:
      'Limits for the events and bytes of each client and for new connections from each address, such as ' +
      'events=50/s,bytes=100000/s,connections=60/m. Each amount is also the largest burst. Each worker allows its share of the connections. If RATE_LIMIT is unset, ' +
      'the limit of bytes is at least four times MAX_PAYLOAD. off sets no limits.',
    default: 'events=2000/s,bytes=4000000/s',
    accepts:
      'off, or a list of events, bytes and connections, each as =<number>/<time>, such as events=100/10s,connections=60/m',
    schema: rates('events=2000/s,bytes=4000000/s'),
  }),
  maxConnectionsPerIp: option({
    name: 'MAX_CONNECTIONS_PER_IP',
    description:
      'Maximum number of simultaneous clients of one address on this machine: an IPv4 address, or the first 64 bits ' +
      'of an IPv6 address. Each worker allows the number divided by WORKERS, rounded up. Further clients get the ' +
      'status 429. 0 sets no limit.',
    default: '10000',
    accepts: 'an integer from 0 to 10000000',
    schema: integer(0, 10_000_000, 10_000),
  }),
  flushMs: option({
    name: 'FLUSH_MS',
    description:
      'Longest time in ms that a busy worker holds outgoing messages, so that it can send them together. 0 sends ' +
      'each one at once.',
    default: '25',
    accepts: 'an integer from 0 to 1000',
    schema: integer(0, 1000, 25),
  }),
} as const;
