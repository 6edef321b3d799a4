import { GjallarError } from '../../../base/errors.js';
import {
  type AppendOptions,
  type Conversation,
  directBetween,
  type NewMessage,
  type Said,
  type StoredMessage,
} from '../../../features/history/index.js';
import { type ChatContext, ioRoomOf, ioRoomOfUser } from '../context.js';
import type { ChatMessage, ChatServer, DirectMessage, OffsetRange, PostReply } from '../protocol.js';

/** A message as the members of its room receive it. */
export function asChatMessage(room: string, { from, text, at, offset, tag }: Said): ChatMessage {
  return { room, from, text, at, offset, tag, ...(from === '' && { deleted: true }) };
}

/** A message between two users as both receive it. */
export function asDirectMessage(
  users: readonly [string, string],
  { from, text, at, offset, tag }: Said,
): DirectMessage {
  if (from === '') return { from, to: '', text, at, offset, tag, deleted: true };
  return { from, to: from === users[0] ? users[1] : users[0], text, at, offset, tag };
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
  const [kept] = (await conversations?.post(directBetween(...users), [message], { client })) ?? [];
  counters.directMessages++;
  if (kept) return kept;
  io.to(users.map(ioRoomOfUser)).emit('direct', asDirectMessage(users, message));
  return {};
}

/** Delivers a stored message to the members on this worker. */
export function deliverHere(context: ChatContext, conversation: Conversation, message: StoredMessage): void {
  const { io, deliver } = context;
  const { from, offset } = message;
  // It was deleted before it was delivered here. Clients must not wait for it.
  if (from === '') return tellDeleted(context, conversation, [[offset, offset]], io.local);
  if ('room' in conversation) return deliver(conversation.room, message);
  const { users } = conversation;
  io.local.to(users.map(ioRoomOfUser)).emit('direct', asDirectMessage(users, message));
}

/**
 * Tells the readers of a conversation that messages are deleted. Plain WebSockets get texts alone, so they are not told.
 * @param to by default, the readers on all workers and machines
 */
export function tellDeleted(
  { io }: ChatContext,
  conversation: Conversation,
  ranges: readonly OffsetRange[],
  to: Pick<ChatServer, 'to'> = io,
): void {
  if ('room' in conversation) {
    const { room } = conversation;
    to.to(ioRoomOf(room)).emit('deleted', { room, ranges });
    return;
  }
  const [one, other] = conversation.users;
  to.to(ioRoomOfUser(one)).emit('deleted', { with: other, ranges });
  if (one !== other) to.to(ioRoomOfUser(other)).emit('deleted', { with: one, ranges });
}
