import { GjallarError } from '../errors.js';

/** The options of a state room. */
export interface StateRoomOptions {
  /** The event that clients receive. @default the name of the room */
  event?: string;
  /** How many keys the room may have. @default 10,000 */
  maxKeys?: number;
  /** How many bytes all keys and their encoded values may have. @default 64,000,000 */
  maxBytes?: number;
  /** How many bytes one encoded value may have. @default 1,000,000 */
  maxValueBytes?: number;
  /** How many bytes a key may have in UTF-8. @default 256 */
  maxKeyLength?: number;
  /** How many members of this worker may be behind before others may not join. @default 100,000 */
  maxBehind?: number;
}

export type StateRoomSettings = Readonly<Required<StateRoomOptions>>;

const DEFAULTS = {
  maxKeys: 10_000,
  maxBytes: 64_000_000,
  maxValueBytes: 1_000_000,
  maxKeyLength: 256,
  maxBehind: 100_000,
};

/** In UTF-16 characters. An event may have the name of a room with something before it. */
const MAX_NAME = 128;
const MAX_EVENT = 256;

/** @throws GjallarError BAD_INPUT */
export function settingsOf(name: string, options: StateRoomOptions): StateRoomSettings {
  const { event = name } = options;
  for (const [what, text, longest] of [
    ['name', name, MAX_NAME],
    ['event', event, MAX_EVENT],
  ] as const) {
    if (typeof text !== 'string' || text.length < 1 || text.length > longest) {
      throw new GjallarError(
        'BAD_INPUT',
        `A state room needs ${what === 'name' ? 'a' : 'an'} ${what} of 1 to ${longest} characters.`,
      );
    }
  }
  const settings = { ...DEFAULTS, event };
  for (const field of Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[]) {
    const value = options[field] ?? DEFAULTS[field];
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new GjallarError('BAD_INPUT', `The option ${field} of a state room must be an integer from 1.`);
    }
    settings[field] = value;
  }
  return settings;
}
