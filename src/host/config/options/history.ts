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

/** State rooms of the chat service. */
export const state = {
  stateMaxRooms: option({
    name: 'STATE_MAX_ROOMS',
    description: 'Maximum number of state rooms on all workers and machines together; 0 turns state rooms off.',
    default: '1000',
    accepts: 'an integer from 0 to 100000',
    schema: integer(0, 100_000, 1000),
  }),
  stateMaxRoomsPerUser: option({
    name: 'STATE_MAX_ROOMS_PER_USER',
    description:
      'Maximum number of state rooms that exist because the same user has created them. It does not apply to API_KEY.',
    default: '100',
    accepts: 'an integer from 1 to 100000',
    schema: integer(1, 100_000, 100),
  }),
  stateMaxKeys: option({
    name: 'STATE_MAX_KEYS',
    description: 'Maximum number of keys in a state room. Beyond it, a new key gets STATE_FULL.',
    default: '10000',
    accepts: 'an integer from 1 to 10000000',
    schema: integer(1, 10_000_000, 10_000),
  }),
  stateMaxPatchBytes: option({
    name: 'STATE_MAX_PATCH_BYTES',
    description:
      'Largest value of a key that PATCH changes, in bytes, before and after the change. Beyond it, PATCH gets ' +
      'STATE_PATCH_SIZE, and PUT sets the value.',
    default: '65536',
    accepts: 'an integer from 1024 to 134217728 (bytes)',
    schema: integer(1024, 134_217_728, 65_536),
  }),
  stateMaxBytes: option({
    name: 'STATE_MAX_BYTES',
    description:
      'Maximum number of bytes that all state rooms together take in the memory of each worker. Each key counts as ' +
      'its own bytes, the bytes of its value, and 300 more. A room remembers up to STATE_MAX_KEYS deleted keys, ' +
      'which count until the room is removed.',
    default: '64000000',
    accepts: 'an integer from 1024 to 1099511627776 (bytes)',
    schema: integer(1024, 1_099_511_627_776, 64_000_000),
  }),
} as const;
