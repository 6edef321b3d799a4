import { hasControlCharacters } from '../../../base/bytes.js';
import { integer, list, text } from '../../../base/options.js';
import { option } from './option.js';

const isRoomName = (name: string) => name !== '' && name.length <= 128 && !hasControlCharacters(name);

/** State rooms of the chat service. */
export const state = {
  stateRooms: option({
    name: 'STATE_ROOMS',
    description:
      'Names of the state rooms, separated by commas, such as quotes,scores. With the demo page, there is also the room ' +
      'demo quotes.',
    kind: list('names of 1 to 128 characters, separated by commas', text('', isRoomName)),
  }),
  stateMaxKeys: option({
    name: 'STATE_MAX_KEYS',
    description: 'Maximum number of keys in a state room. Beyond it, a new key gets STATE_FULL.',
    kind: integer(1, 10_000_000),
    fallback: 10_000,
  }),
  stateMaxBytes: option({
    name: 'STATE_MAX_BYTES',
    description: 'Maximum number of bytes of all keys and values in a state room. Beyond it, a value gets STATE_FULL.',
    kind: integer(1024, 1_099_511_627_776, 'bytes'),
    fallback: 64_000_000,
  }),
} as const;
