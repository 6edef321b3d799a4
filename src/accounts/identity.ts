import { GjallarError } from '../errors.js';

/**
 * What somebody may do with rooms: patterns, each a room's name, or the beginning of names with a `*` behind it. A list
 * that is missing sets no limit; an empty one allows nothing.
 */
export interface Grant {
  /** Rooms to join, and to read: history, who is there. */
  join?: readonly string[];
  /** Rooms to write to. */
  publish?: readonly string[];
}

/** Who somebody is. */
export interface Identity {
  name: string;
  grant: Grant;
  /** When this ends, in ms since 1970; missing where it does not. */
  expires?: number;
}

/** Tells who somebody is from what they show. */
export interface Accounts {
  /** @throws GjallarError TOKEN_… or ACCOUNTS_UNAVAILABLE */
  identify(token: unknown): Promise<Identity>;
}

/** @throws GjallarError ROOM_FORBIDDEN */
export function requireRoom(grant: Grant, right: keyof Grant, room: string): void {
  if (!isAllowed(grant, right, room)) throw new GjallarError('ROOM_FORBIDDEN');
}

export function isAllowed(grant: Grant, right: keyof Grant, room: string): boolean {
  const patterns = grant[right];
  return !patterns || patterns.some((pattern) => matches(pattern, room));
}

function matches(pattern: string, room: string): boolean {
  return pattern.endsWith('*') ? room.startsWith(pattern.slice(0, -1)) : room === pattern;
}

/** The longest time that a timer of Node's can be set to, in ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls back at a time, in ms since 1970, however far away. Returns what cancels it. */
export function atTime(time: number | undefined, callback: () => void): () => void {
  if (time === undefined) return () => {};
  let timer: NodeJS.Timeout;
  const wait = () => {
    const left = time - Date.now();
    timer = left > MAX_TIMER_MS ? setTimeout(wait, MAX_TIMER_MS) : setTimeout(callback, Math.max(0, left));
  };
  wait();
  return () => clearTimeout(timer);
}
