import { z } from 'zod';
import { duration, integer, matching, oneOf } from '../values.js';
import { option } from './option.js';

const historyStores = ['auto', 'sqlite', 'redis'] as const;

/** The messages that the chat service keeps. */
export const history = {
  historyStore: option({
    name: 'HISTORY_STORE',
    description:
      'Where messages are kept: sqlite (DATA_DIR, this machine only) or redis (REDIS_URL); auto means redis if ' +
      'REDIS_URL is set, and sqlite otherwise.',
    default: 'auto',
    accepts: `one of ${historyStores.join(', ')}`,
    schema: oneOf(historyStores, 'auto'),
  }),
  historyTtl: option({
    name: 'HISTORY_TTL',
    description: 'How long messages are kept for clients that reconnect: a number with ms, s, m, h or d; 0 keeps none.',
    default: '24h',
    accepts: '0, or a number with ms, s, m, h or d, such as 24h',
    schema: duration('24h'),
  }),
  historyMaxBytes: option({
    name: 'HISTORY_MAX_BYTES',
    description: 'Maximum number of bytes of messages in DATA_DIR. Above it, the oldest are removed. 0 sets no limit.',
    default: '1073741824',
    accepts: '0, or an integer from 1048576',
    schema: integer(0, 1e15, 2 ** 30).refine((bytes) => bytes === 0 || bytes >= 2 ** 20),
  }),
  dataDir: option({
    name: 'DATA_DIR',
    description: 'Directory on a local disk where the history of HISTORY_STORE=sqlite stores messages.',
    default: './data',
    accepts: 'a path',
    schema: z.string().default('./data'),
  }),
  archiveUrl: option({
    name: 'ARCHIVE_URL',
    isSecret: true,
    description: 'Database that keeps all messages permanently: sqlite:<path>, postgres://… or mysql://…',
    default: 'none',
    accepts: 'a URL that begins with sqlite:, postgres:// or mysql://',
    schema: matching(/^(sqlite:.|(postgres|postgresql|mysql):\/\/.)/),
  }),
} as const;
