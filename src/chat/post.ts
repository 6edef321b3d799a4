import type { AppendOptions, NewMessage, Position, StoredMessage } from '../history/store.js';
import { type ChatContext, ioRoomOfUser } from './context.js';
import { type Conversation, directBetween } from './conversation.js';
import type { ChatMessage, DirectMessage, PostReply } from './protocol.js';

/** A message as it is said, kept or not. */
export type Said = NewMessage & Partial<Position>;

/** A room's message as its members receive it. */
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
 * Says something in a room, whoever says it and over whatever way it came in. Resolves once it is kept, with a reply for
 * each message.
 * @throws GjallarError HISTORY_… when the history does not keep it; nobody gets it then
 */
export async function postToRoom(
  { io, conversations, deliver, counters }: ChatContext,
  room: string,
  messages: readonly NewMessage[],
  options?: AppendOptions,
): Promise<(PostReply & { duplicate?: true })[]> {
  if (conversations) {
    const results = await conversations.post({ room }, messages, options);
    for (const { duplicate } of results) if (!duplicate) counters.roomMessages++;
    return results;
  }
  counters.roomMessages += messages.length;
  // Each worker delivers to its own: members without Socket.IO are on no other bus.
  io.serverSideEmit('said', room, [...messages]);
  for (const message of messages) deliver(room, message);
  return messages.map(() => ({}));
}

/**
 * Says something to a user. Resolves once it is kept, whether or not the user is there.
 * @throws GjallarError HISTORY_… when the history does not keep it; nobody gets it then
 */
export async function postDirect(
  { io, conversations, counters }: ChatContext,
  to: string,
  message: NewMessage,
  client: unknown,
): Promise<PostReply> {
  const users = [message.from, to] as const;
  const [kept] = conversations ? await conversations.post(directBetween(...users), [message], { client }) : [];
  counters.directMessages++;
  if (kept) return kept;
  io.to(users.map(ioRoomOfUser)).emit('direct', asDirectMessage(users, message));
  return {};
}

/** Delivers a message that is kept to this worker's members. */
export function deliverHere({ io, deliver }: ChatContext, conversation: Conversation, message: StoredMessage): void {
  if ('room' in conversation) return deliver(conversation.room, message);
  const { users } = conversation;
  io.local.to(users.map(ioRoomOfUser)).emit('direct', asDirectMessage(users, message));
}
