import { integer, text } from '../../../base/options.js';
import { duration, zeroOr } from '../values.js';
import { option } from './option.js';

/** The messages that the chat service keeps. */
export const history = {
  historyTtl: option({
    name: 'HISTORY_TTL',
    description: 'How long messages are kept for clients that reconnect: a number with ms, s, m, h or d; 0 keeps none.',
    default: '24h',
    kind: duration('24h'),
    fallback: 24 * 3_600_000,
  }),
  historyMaxBytes: option({
    name: 'HISTORY_MAX_BYTES',
    description: 'Maximum number of bytes of messages in DATA_DIR. Above it, the oldest are removed. 0 sets no limit.',
    accepts: '0, or an integer from 1048576',
    kind: zeroOr(integer(2 ** 20, 1e15)),
    fallback: 2 ** 30,
  }),
  dataDir: option({
    name: 'DATA_DIR',
    description: 'Directory on a local disk where messages are kept, if REDIS_URL is not set.',
    kind: text('a path'),
    fallback: './data',
  }),
  archiveUrl: option({
    name: 'ARCHIVE_URL',
    isSecret: true,
    description: 'Database that keeps all messages permanently: postgres://… or mysql://…',
    kind: text('a URL that begins with postgres:// or mysql://', /^(postgres|postgresql|mysql):\/\/./),
  }),
} as const;
