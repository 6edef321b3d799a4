import { integer } from '../../../base/options.js';
import { option } from './option.js';

/** State rooms of the chat service. */
export const state = {
  stateMaxRooms: option({
    name: 'STATE_MAX_ROOMS',
    description: 'Maximum number of state rooms on all workers and machines together; 0 turns state rooms off.',
    kind: integer(0, 100_000),
    fallback: 1000,
  }),
  stateMaxRoomsPerUser: option({
    name: 'STATE_MAX_ROOMS_PER_USER',
    description:
      'Maximum number of state rooms that exist because the same user has created them. It does not apply to API_KEY.',
    kind: integer(1, 100_000),
    fallback: 100,
  }),
  stateMaxKeys: option({
    name: 'STATE_MAX_KEYS',
    description: 'Maximum number of keys in a state room. Beyond it, a new key gets STATE_FULL.',
    kind: integer(1, 10_000_000),
    fallback: 10_000,
  }),
  stateMaxPatchBytes: option({
    name: 'STATE_MAX_PATCH_BYTES',
    description:
      'Largest value of a key that PATCH changes, in bytes, before and after the change. Beyond it, PATCH gets ' +
      'STATE_PATCH_SIZE, and PUT sets the value.',
    kind: integer(1024, 134_217_728, 'bytes'),
    fallback: 65_536,
  }),
  stateMaxBytes: option({
    name: 'STATE_MAX_BYTES',
    description:
      'Maximum number of bytes that all state rooms together take in the memory of each worker. Each key counts as ' +
      'its own bytes, the bytes of its value, and 300 more. A room remembers up to STATE_MAX_KEYS deleted keys, ' +
      'which count until the room is removed.',
    kind: integer(1024, 1_099_511_627_776, 'bytes'),
    fallback: 64_000_000,
  }),
} as const;
