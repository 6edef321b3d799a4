import type { NewMessage, Position } from '../store.js';

/** A posted message, stored or not. */
export type Said = NewMessage & Partial<Position>;

/**
 * A conversation is a room, or two users who write to each other. Its key names it in the history and between workers.
 */
export type Conversation = { room: string } | { users: readonly [string, string] };

export const ROOM = 'room:';
export const DIRECT = 'direct:';
/** No name contains a control character. */
const BETWEEN = '\n';

/** The conversation of two users, the same for both. */
export function directBetween(one: string, other: string): Conversation {
  return { users: one < other ? [one, other] : [other, one] };
}

export function keyOf(conversation: Conversation): string {
  return 'room' in conversation ? ROOM + conversation.room : DIRECT + conversation.users.join(BETWEEN);
}

/** The counterpart of {@link keyOf}. */
export function conversationOf(key: string): Conversation {
  if (key.startsWith(ROOM)) return { room: key.slice(ROOM.length) };
  const [one = '', other = ''] = key.slice(DIRECT.length).split(BETWEEN);
  return { users: [one, other] };
}
