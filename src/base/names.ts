import { randomUUID } from 'node:crypto';
import type { Room } from 'socket.io-adapter';

/**
 * Names of rooms: texts that stand for rooms as parts of a topic, and in what processes tell each other.
 *
 * An application may use any value as a room, and Socket.IO tells rooms apart as a Map does: 7 and '7' are two rooms. Two rooms
 * have the same name only if a Map takes them for one. The name of nearly every text is the text itself. All names are the
 * same in UTF-8, which has no half of a surrogate pair.
 *
 * The name of an object is for this process alone, whatever the object is: another process cannot have it.
 */

/** Begins the names of what is no text, and of texts that begin with it or that UTF-8 cannot express. */
const MARK = '\0';
const QUOTE = '"';
/** Begins the name of an object, and of the only symbols that an application cannot send. */
const HERE = `${MARK}#`;
const SYMBOL = '@';

/** What only this process has: no other process uses its id. */
const processId = randomUUID();
let lastNumber = 0;
const namesHere = new WeakMap<object, string>();
const valuesHere = new Map<string, WeakRef<object>>();
const collected = new FinalizationRegistry<string>((name) => valuesHere.delete(name));

const CONSTANTS = new Map<string, unknown>([undefined, null, true, false].map((value) => [String(value), value]));

/** The name of a room. Nothing of the room is called, such as its `toString()`. */
export function nameOf(room: unknown): string {
  if (typeof room === 'string')
    return room.charCodeAt(0) !== 0 && room.isWellFormed() ? room : MARK + JSON.stringify(room);
  if ((typeof room === 'object' && room !== null) || typeof room === 'function') return nameHere(room);
  if (typeof room === 'bigint') return `${MARK}${room}n`;
  if (typeof room !== 'symbol') return MARK + String(room);
  const key = Symbol.keyFor(room);
  return key === undefined ? nameHere(room as unknown as object) : MARK + SYMBOL + JSON.stringify(key);
}

function nameHere(value: object): string {
  const known = namesHere.get(value);
  if (known !== undefined) return known;
  const name = `${HERE}${processId} ${++lastNumber}`;
  namesHere.set(value, name);
  valuesHere.set(name, new WeakRef(value));
  collected.register(value, name);
  return name;
}

/** Whether a name is that of an object: no other process has such a room. */
export function isNamedHere(name: string): boolean {
  return name.startsWith(HERE);
}

/** In place of an object that this process does not have, or that nothing refers to any more. No socket is in this room. */
export const NO_ROOM = Symbol('a room of another process') as unknown as Room;

/** The rooms with these names. */
export function roomsNamed(names: Iterable<string>): Room[] {
  return Array.from(names, roomNamed);
}

/** The room with a name. */
export function roomNamed(name: string): Room {
  return name.charCodeAt(0) === 0 ? (valueNamed(name) as Room) : name;
}

function valueNamed(name: string): unknown {
  if (isNamedHere(name)) return valuesHere.get(name)?.deref() ?? NO_ROOM;
  const text = name.slice(MARK.length);
  if (text.startsWith(QUOTE)) return JSON.parse(text);
  if (text.startsWith(SYMBOL)) return Symbol.for(JSON.parse(text.slice(SYMBOL.length)) as string);
  if (CONSTANTS.has(text)) return CONSTANTS.get(text);
  return text.endsWith('n') ? BigInt(text.slice(0, -1)) : Number(text);
}

/** One text for several: each has its length before it, so nothing that is in one can look like the border to another. */
export function joinTexts(...texts: readonly string[]): string {
  let joined = '';
  for (const text of texts) joined += `${text.length}:${text}`;
  return joined;
}

/** The texts that {@link joinTexts} has joined. */
export function splitTexts(joined: string): string[] {
  const texts: string[] = [];
  for (let at = 0; at < joined.length; ) {
    const start = joined.indexOf(':', at) + 1;
    const end = start + Number(joined.slice(at, start - 1));
    texts.push(joined.slice(start, end));
    at = end;
  }
  return texts;
}
