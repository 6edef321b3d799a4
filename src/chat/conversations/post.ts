import { GjallarError } from '../../errors.js';
import type { AppendOptions, NewMessage, StoredMessage } from '../../history/store.js';
import { type ChatContext, ioRoomOf, ioRoomOfUser } from '../context.js';
import type { ChatMessage, DirectMessage, PostReply } from '../protocol.js';
import { type Conversation, directBetween, type Said } from './conversation.js';

/** A message as the members of its room receive it. */
export function asChatMessage(room: string, { from, text, at, epoch, offset }: Said): ChatMessage {
  return { room, from, text, at, epoch, offset };
}

/** A message between two users as both receive it. */
export function asDirectMessage(
  users: readonly [string, string],
  { from, text, at, epoch, offset }: Said,
): DirectMessage {
  return { from, to: from === users[0] ? users[1] : users[0], text, at, epoch, offset };
}

/**
 * Posts messages to a room, from any sender and any transport. Resolves once they are stored, with a reply for each
 * message.
 * @throws GjallarError HISTORY_… if the history does not store them; no member receives them then
 */
export async function postToRoom(
  { io, conversations, counters, isOverloaded }: ChatContext,
  room: string,
  messages: readonly NewMessage[],
  options?: AppendOptions,
): Promise<(PostReply & { duplicate?: true })[]> {
  if (isOverloaded()) throw new GjallarError('OVERLOADED');
  if (conversations) {
    const results = await conversations.post({ room }, messages, options);
    for (const { duplicate } of results) if (!duplicate) counters.roomMessages++;
    return results;
  }
  counters.roomMessages += messages.length;
  for (const message of messages) io.to(ioRoomOf(room)).emit('message', asChatMessage(room, message));
  return messages.map(() => ({}));
}

/**
 * Posts a message to a user. Resolves once it is stored, whether or not the user is connected.
 * @throws GjallarError HISTORY_… if the history does not store it; no user receives it then
 */
export async function postDirect(
  { io, conversations, counters, isOverloaded }: ChatContext,
  to: string,
  message: NewMessage,
  client: unknown,
): Promise<PostReply> {
  if (isOverloaded()) throw new GjallarError('OVERLOADED');
  const users = [message.from, to] as const;
  const [kept] = conversations ? await conversations.post(directBetween(...users), [message], { client }) : [];
  counters.directMessages++;
  if (kept) return kept;
  io.to(users.map(ioRoomOfUser)).emit('direct', asDirectMessage(users, message));
  return {};
}

/** Delivers a stored message to the members on this worker. */
export function deliverHere({ io, deliver }: ChatContext, conversation: Conversation, message: StoredMessage): void {
  if ('room' in conversation) return deliver(conversation.room, message);
  const { users } = conversation;
  io.local.to(users.map(ioRoomOfUser)).emit('direct', asDirectMessage(users, message));
}
