import { GjallarError } from '../../../base/errors.js';
import type {
  AppendOptions,
  Conversation,
  NewMessage,
  PageQuery,
  Said,
  StoredMessage,
} from '../../../features/history/index.js';
import { type ChatContext, ioRoomOf, ioRoomOfUser } from '../context.js';
import type { ChatMessage, ChatServer, DirectMessage, HistoryReply, OffsetRange, PostReply } from '../protocol.js';

/** A message as the readers of its conversation receive it. */
export function asReceived(
  conversation: Conversation,
  { from, text, at, offset, tag }: Said,
): ChatMessage | DirectMessage {
  const deleted = from === '' && { deleted: true as const };
  if ('room' in conversation) return { room: conversation.room, from, text, at, offset, tag, ...deleted };
  const [one, other] = conversation.users;
  return { from, to: deleted ? '' : from === one ? other : one, text, at, offset, tag, ...deleted };
}

/** Sends a message to the readers of its conversation. */
function tell(to: Pick<ChatServer, 'to'>, conversation: Conversation, message: Said): void {
  const received = asReceived(conversation, message);
  if ('room' in conversation) to.to(ioRoomOf(conversation.room)).emit('message', received as ChatMessage);
  else to.to(conversation.users.map(ioRoomOfUser)).emit('direct', received as DirectMessage);
}

/**
 * Posts messages to a room or a user, from any sender and any transport. Resolves once they are stored, with a reply for each
 * message, whether or not anyone is connected.
 * @throws GjallarError OVERLOADED; HISTORY_… if the history does not store them. Then nobody receives them
 */
export async function post(
  { io, conversations, counters, engine }: ChatContext,
  conversation: Conversation,
  messages: readonly NewMessage[],
  options?: AppendOptions,
): Promise<(PostReply & { duplicate?: true })[]> {
  if (engine.load.rejectsMessages) throw new GjallarError('OVERLOADED');
  const results = await conversations?.post(conversation, messages, options);
  const posted = results ? results.filter(({ duplicate }) => !duplicate).length : messages.length;
  if ('room' in conversation) counters.roomMessages += posted;
  else counters.directMessages += posted;
  if (results) return results;
  for (const message of messages) tell(io, conversation, message);
  return messages.map(() => ({}));
}

/**
 * Reads a page of a conversation when it is the client's turn.
 * @throws GjallarError HISTORY_OFF, HISTORY_UNAVAILABLE, RATE_LIMITED, OVERLOADED
 */
export async function readConversation(
  { conversations }: ChatContext,
  conversation: Conversation,
  query: PageQuery,
  client: object | string,
): Promise<HistoryReply> {
  if (!conversations) throw new GjallarError('HISTORY_OFF');
  const { messages, ...page } = await conversations.read(conversation, query, client);
  return { messages: messages.map((message) => asReceived(conversation, message)), ...page };
}

/** Delivers a stored message to the members on this worker. */
export function deliverHere({ io }: ChatContext, conversation: Conversation, message: StoredMessage): void {
  const { from, offset } = message;
  // It was deleted before it was delivered here. Clients must not wait for it.
  if (from === '') tellDeleted(io.local, conversation, [[offset, offset]]);
  else tell(io.local, conversation, message);
}

/**
 * Tells the readers of a conversation that messages are deleted. Plain WebSockets get texts alone, so they are not told.
 * @param to all workers and machines, or this worker
 */
export function tellDeleted(
  to: Pick<ChatServer, 'to'>,
  conversation: Conversation,
  ranges: readonly OffsetRange[],
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
