import { GjallarError } from '../../base/errors.js';

/**
 * The rights of a user in rooms. A pattern is the name of a room, or a prefix of names followed by `*`. If a list is
 * missing, it sets no limit; an empty list allows no room.
 */
export interface Grant {
  /** Rooms that the user may join, and whose history and members they may read. */
  join?: readonly string[];
  /** Rooms that the user may publish to. If it is missing, these are the rooms that they may join. */
  publish?: readonly string[];
}

/** A user as the server has verified them. */
export interface Identity {
  /** Identifies the user: unique, and stable from token to token. */
  name: string;
  /** The name to show beside the identity; neither unique nor stable. Undefined if there is none, or the same. */
  displayName?: string;
  grant: Grant;
  /** When the identity expires, in ms since 1970; undefined for never. */
  expires?: number;
  /** The id of the token (claim `jti`). */
  tokenId?: string;
  /** When the token was issued (claim `iat`), in ms since 1970. */
  issued?: number;
}

/** Verifies tokens. */
export interface Accounts {
  /** The claim that identifies the user, for error messages. */
  readonly userClaim: string;
  /** @throws GjallarError TOKEN_… or ACCOUNTS_UNAVAILABLE */
  identify(token: unknown): Promise<Identity>;
}

/** @throws GjallarError ROOM_FORBIDDEN */
export function requireRoom(grant: Grant, right: keyof Grant, room: string): void {
  if (!isAllowed(grant, right, room)) throw new GjallarError('ROOM_FORBIDDEN');
}

export function isAllowed(grant: Grant, right: keyof Grant, room: string): boolean {
  // A token that names rooms to join, and says nothing of publishing, must not reach other rooms over HTTP.
  return covers(right === 'publish' ? (grant.publish ?? grant.join) : grant.join, room);
}

function covers(patterns: readonly string[] | undefined, room: string): boolean {
  return !patterns || patterns.some((pattern) => matches(pattern, room));
}

function matches(pattern: string, room: string): boolean {
  return pattern.endsWith('*') ? room.startsWith(pattern.slice(0, -1)) : room === pattern;
}

/** The longest delay of a Node.js timer, in ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls back at a time, in ms since 1970, however far in the future. Returns a function that cancels it. */
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

/** Everything below U+0300 is in normal form C already. */
const MAY_DIFFER = /[\u0300-\uffff]/;

/**
 * The one form of a text that can be written in several: with "é" as one character, or as "e" with an accent. Systems
 * differ in what they send, and a user must be one whatever the keyboard. Source: Unicode Standard Annex 15, form NFC.
 */
export function normalForm(text: string): string {
  return MAY_DIFFER.test(text) ? text.normalize('NFC') : text;
}

/**
 * Characters that no user name may contain although they show nothing: line and paragraph separators, format characters
 * (joiners included, so no name needs a rule for where they are harmless), fillers, the blank of Braille, and spaces other
 * than U+0020 and the wide one, U+3000, which is common in Japanese names. With them, two different names could look the same.
 */
const INVISIBLE = /[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?![ \u3000])\p{Zs}/u;

/** The one exception: the selector that turns a symbol such as U+2764 into an emoji, which keyboards add by themselves. */
const EMOJI_SELECTOR = /(?<=(?!\p{Emoji_Presentation})\p{Extended_Pictographic})\ufe0f/gu;

export function hasInvisibleCharacters(name: string): boolean {
  return INVISIBLE.test(name.replaceAll(EMOJI_SELECTOR, ''));
}
