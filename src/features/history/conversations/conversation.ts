import { GjallarError } from '../../../base/errors.js';
import { checkedText, type NewMessage, type Position } from '../store.js';

/** A posted message, stored or not. */
export type Said = NewMessage & Partial<Position>;

/**
 * A conversation is a room, or two users who write to each other. Its key names it in the history and between workers.
 */
export type Conversation = { room: string } | { users: readonly [string, string] };

export const ROOM = 'room:';
export const DIRECT = 'direct:';
/** No name of a user contains it. */
const BETWEEN = '\n';

/** The conversation of two users, the same for both. */
export function directBetween(one: string, other: string): Conversation {
  return { users: one < other ? [one, other] : [other, one] };
}

/** @throws GjallarError BAD_INPUT for a name that is not well-formed, or of a user with a line break */
export function keyOf(conversation: Conversation): string {
  if ('room' in conversation) return ROOM + checkedText('room', conversation.room);
  for (const user of conversation.users) {
    if (checkedText('user', user).includes(BETWEEN)) {
      throw new GjallarError('BAD_INPUT', 'The name of a user in a conversation has a line break. Use another name.');
    }
  }
  return DIRECT + conversation.users.join(BETWEEN);
}

/** The counterpart of {@link keyOf}. */
export function conversationOf(key: string): Conversation {
  if (key.startsWith(ROOM)) return { room: key.slice(ROOM.length) };
  const [one = '', other = ''] = key.slice(DIRECT.length).split(BETWEEN);
  return { users: [one, other] };
}
