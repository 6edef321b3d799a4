import { type Identity, requireRoom } from '../accounts/identity.js';
import { GjallarError } from '../errors.js';
import type { NewMessage, Page } from '../history/store.js';
import type { ChatContext } from './context.js';
import { asChatMessage, postToRoom } from './conversations/post.js';
import { readBatch, readName, readPage, readPostKey, readRoom, readText } from './input.js';
import type { ChatMessage, PostReply } from './protocol.js';

/** Who a message is from when a caller that may write in any name gives none. */
export const DEFAULT_SENDER = 'api';

/** Where a message stands; `duplicate` says that it was kept already, when it first came with this key. */
export type Published = PostReply & { duplicate?: true };

/** The reply to a published message, or to a batch with one entry for each message. */
export type PublishReply = Published | { messages: Published[] };

/** A page of a room's messages. */
export type RoomPage = Omit<Page, 'messages'> & { messages: ChatMessage[] };

/**
 * Says something in a room without being in it: `{ text, from? }`, or several as `{ messages: [{ text, from? }, …] }`,
 * which are kept all or none, next to each other.
 * @param caller who says it; undefined for who may write to every room in any name
 * @param readInput reads it as it came from outside; called once the caller may publish there
 * @param key what the caller calls this publication: a repetition with it gets the positions of the first one
 * @throws GjallarError BAD_ROOM, BAD_INPUT, BAD_BATCH, BAD_TEXT, BAD_NAME, BAD_KEY, KEY_REUSED, ROOM_FORBIDDEN, HISTORY_…
 */
export async function publish(
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
  // Said twice in spite of its key is worse than not said.
  if (postKey !== undefined && !context.conversations) throw new GjallarError('HISTORY_OFF');
  const at = Date.now();
  const inputs = batch ?? [input];
  const publication = postKey && `http\n${caller?.name ?? ''}\n${postKey}`;
  const messages = inputs.map((one, index): NewMessage => {
    const message = { ...toMessage(one, caller), at };
    if (!publication) return message;
    // Of a batch all are known by their keys or none: with another size none is kept.
    const claim = { name: publication, number: inputs.length };
    return { ...message, key: `${publication}\n${index}/${inputs.length}`, claim };
  });
  const published = await postToRoom(context, name, messages);
  if (published[0]!.taken) throw new GjallarError('KEY_REUSED');
  if (published[0]!.duplicate) await requireSame(context, name, messages, published[0]!);
  return batch ? { messages: published } : published[0]!;
}

/**
 * Reads a page of a room's messages.
 * @throws GjallarError BAD_ROOM, BAD_PAGE, HISTORY_OFF, HISTORY_UNAVAILABLE
 */
export async function readRoomPage(
  { conversations }: ChatContext,
  caller: Identity | undefined,
  room: string,
  query: unknown,
): Promise<RoomPage> {
  const name = readRoom(room);
  if (caller) requireRoom(caller.grant, 'join', name);
  const page = readPage(query);
  if (!conversations) throw new GjallarError('HISTORY_OFF');
  const { messages, ...rest } = await conversations.read({ room: name }, page);
  return { messages: messages.map((message) => asChatMessage(name, message)), ...rest };
}

/**
 * A repetition says what was said before; what is gone from the history meanwhile cannot be compared.
 * @throws GjallarError KEY_REUSED, HISTORY_UNAVAILABLE
 */
async function requireSame(
  { conversations }: ChatContext,
  room: string,
  messages: readonly NewMessage[],
  { epoch, offset = 1 }: Published,
): Promise<void> {
  const page = await conversations!.read({ room }, { epoch, after: offset - 1, limit: messages.length });
  const kept = new Map(page.messages.map((message) => [message.offset, message]));
  for (const [index, { from, text }] of messages.entries()) {
    const before = kept.get(offset + index);
    if (before && (before.text !== text || before.from !== from)) throw new GjallarError('KEY_REUSED');
  }
}

function toMessage(input: unknown, caller: Identity | undefined): Pick<NewMessage, 'from' | 'text'> {
  const { text, from = caller?.name ?? DEFAULT_SENDER } = input as Record<string, unknown>;
  if (caller && from !== caller.name) {
    throw new GjallarError('BAD_NAME', 'The sender is who the token names; leave from out.');
  }
  return { from: readName(from), text: readText(text) };
}
