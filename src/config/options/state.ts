import { integer } from '../values.js';
import { option } from './option.js';

/** State rooms of the chat service. */
export const state = {
  stateMaxRooms: option({
    name: 'STATE_MAX_ROOMS',
    description: 'Maximum number of state rooms on all workers and machines together; 0 turns state rooms off.',
    default: '1000',
    accepts: 'an integer from 0 to 100000',
    schema: integer(0, 100_000, 1000),
  }),
  stateMaxKeys: option({
    name: 'STATE_MAX_KEYS',
    description: 'Maximum number of keys in a state room. Beyond it, a new key gets STATE_FULL.',
    default: '10000',
    accepts: 'an integer from 1 to 10000000',
    schema: integer(1, 10_000_000, 10_000),
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
