import { GjallarError } from '../../../base/errors.js';
import type { NewMessage } from '../../../features/history/index.js';
import { type Identity, requireRoom } from '../../accounts/identity.js';
import type { ChatContext } from '../context.js';
import { callerOf } from '../identify.js';
import { newMessage, read, readBatch, readPageQuery, readPostKey, readRoom, readText } from '../input.js';
import type { HistoryReply, PostReply } from '../protocol.js';
import { post, readConversation } from './post.js';

/** The position of a message; `duplicate` says that it was kept when it first came with this key. */
export type Published = PostReply & { duplicate?: true };

/** The reply to a published message, or to a batch with one entry for each message. */
export type PublishReply = Published | { messages: Published[] };

/**
 * Posts to a room without being a member of it: `{ text, from? }`, or several as `{ messages: [{ text, from? }, …] }`,
 * which are kept all or none, next to each other.
 * @param caller the user who posts; undefined for a caller that may post to every room under any name
 * @param readInput reads the request's body; called once it is clear that the caller may publishMessage there
 * @param key the caller's idempotency key: a repetition with it gets the positions of the first publication
 * @throws GjallarError BAD_ROOM, BAD_INPUT, BAD_BATCH, BAD_TEXT, BAD_NAME, BAD_KEY, KEY_REUSED, ROOM_FORBIDDEN, HISTORY_…
 */
export async function publishMessage(
  context: ChatContext,
  caller: Identity | undefined,
  room: string,
  readInput: () => Promise<unknown>,
  key: string | undefined,
): Promise<PublishReply> {
  const name = readRoom(room);
  if (caller) requireRoom(caller.grant, 'publish', name);
  const input = await readInput();
  const batch = readBatch(input);
  const postKey = readPostKey(key);
  // Without a history nothing would keep a repetition from being posted twice.
  if (postKey !== undefined && !context.conversations) throw new GjallarError('HISTORY_OFF');
  if (caller && context.talkers.isDue()) context.talkers.add(caller.name);
  const at = Date.now();
  const inputs = batch ?? [input];
  const messages = inputs.map((one): NewMessage => ({ ...toMessage(one, caller), at }));
  // Each caller has its own keys.
  const storeKey = postKey === undefined ? undefined : `http\n${caller?.name ?? ''}\n${postKey}\n`;
  const published = await post(context, { room: name }, messages, { key: storeKey, client: callerOf(caller) });
  if (published[0]!.duplicate) await requireSame(context, caller, name, messages, published[0]!);
  return batch ? { messages: published } : published[0]!;
}

/**
 * Reads a page of a room's messages.
 * @throws GjallarError BAD_ROOM, BAD_PAGE, HISTORY_OFF, HISTORY_UNAVAILABLE, RATE_LIMITED, OVERLOADED
 */
export async function readRoomPage(
  context: ChatContext,
  caller: Identity | undefined,
  room: string,
  query: unknown,
): Promise<HistoryReply> {
  const name = readRoom(room);
  if (caller) requireRoom(caller.grant, 'join', name);
  return readConversation(context, { room: name }, readPageQuery(query), callerOf(caller));
}

/**
 * Compares a repetition with what was kept for its key. What is gone from the history meanwhile cannot be compared.
 * @throws GjallarError KEY_REUSED, HISTORY_UNAVAILABLE
 */
async function requireSame(
  { conversations }: ChatContext,
  caller: Identity | undefined,
  room: string,
  messages: readonly NewMessage[],
  { offset: first = 1 }: Published,
): Promise<void> {
  // The positions are counted back from the last message that was kept, so a batch of another size lands on others.
  if (first < 1) throw new GjallarError('KEY_REUSED');
  const end = first + messages.length;
  for (let next = first; next < end; ) {
    const query = { after: next - 1, before: end, limit: end - next };
    const page = await conversations!.read({ room }, query, callerOf(caller));
    for (const { offset, from, text } of page.messages) {
      // A deleted message cannot be compared.
      if (from === '') continue;
      const repeated = messages[offset - first];
      if (repeated?.text !== text || repeated.from !== from) throw new GjallarError('KEY_REUSED');
    }
    const last = page.messages.at(-1);
    if (!last) return;
    next = last.offset + 1;
  }
}

function toMessage(input: unknown, caller: Identity | undefined): Pick<NewMessage, 'from' | 'text'> {
  const { text, from = caller?.name } = input as Record<string, unknown>;
  if (caller && from !== caller.name) {
    throw new GjallarError('BAD_NAME', 'The sender is who the token names; leave from out.');
  }
  return { from: read(newMessage.shape.from, from, 'BAD_NAME'), text: readText(text) };
}
