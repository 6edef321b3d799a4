import { setImmediate as nextTurn } from 'node:timers/promises';
import { GjallarError } from '../../../base/errors.js';
import {
  type Archive,
  type Change,
  type Conversation,
  conversationOf,
  type HistoryStore,
  keyOf,
  MAX_ERASE,
  type Position,
  type StoredMessage,
} from '../../../features/history/index.js';
import type { ChatContext } from '../context.js';
import { asReceived, tellDeleted } from '../conversations/post.js';
import { readName, readRoom } from '../input.js';
import type { OffsetRange } from '../protocol.js';

/** The stores that keep messages. */
export interface MessageStores {
  history: HistoryStore;
  archive: Archive | undefined;
}

/** How many messages had a text: in the history, and in the archive. Most of them are in both. */
export interface Deleted {
  deleted: number;
  archived: number;
}

/**
 * Deletes and exports messages for the operator, in the history and then in the archive. Positions stay, and readers are told.
 * Each deletion can be repeated, and goes on where an earlier one has failed.
 */
export class OperatorMessages {
  constructor(
    private readonly context: ChatContext,
    private readonly stores: MessageStores | undefined,
  ) {}

  /**
   * Deletes one message of a room.
   * @param tag the tag of the message; by default, that of the one at the offset
   * @throws GjallarError BAD_ROOM, NOT_FOUND, HISTORY_…
   */
  async deleteMessage(room: string, offset: number, tag?: number): Promise<object> {
    const { history, archive } = this.opened();
    const conversation = { room: readRoom(room) };
    const key = keyOf(conversation);
    const query = { after: Math.max(0, offset - 1), before: offset + 1, limit: 1 };
    const kept = (await history.read(key, query)).messages;
    const archived = (await archive?.read(key, query))?.messages ?? [];
    // One that is deleted already may have another tag.
    const found = [...kept, ...archived].find((one) => tag === undefined || tag === one.tag || one.from === '');
    if (!found) {
      throw new GjallarError('NOT_FOUND', 'The room has no message at this position. Check the offset and the tag.');
    }
    await history.erase(key, [found]);
    const isSame = (one: Position) => one.tag === found.tag || found.from === '';
    // Also one that the archiver has copied since.
    await archive?.erase(key, [found, ...archived.filter(isSame)]);
    tellDeleted(this.context.io, conversation, [[offset, offset]]);
    return { offset, tag: found.tag };
  }

  /**
   * Deletes all messages of a room up to its newest one.
   * @throws GjallarError BAD_ROOM, HISTORY_…
   */
  async deleteRoom(room: string): Promise<Deleted & { offset: number; tag: number }> {
    const { history, archive } = this.opened();
    const conversation = { room: readRoom(room) };
    const key = keyOf(conversation);
    const { offset, tag } = await history.head(key);
    let deleted = 0;
    for (let after = 0; after < offset; ) {
      const { messages } = await history.read(key, { after, before: offset + 1, limit: MAX_ERASE });
      if (messages.length === 0) break;
      deleted += await history.erase(key, messages);
      after = messages.at(-1)!.offset;
    }
    const archived = (await archive?.eraseConversation(key)) ?? 0;
    if (offset > 0) tellDeleted(this.context.io, conversation, [[1, offset]]);
    return { offset, tag, deleted, archived };
  }

  /**
   * Deletes all messages that a user has written, to rooms and to other users.
   * @throws GjallarError BAD_NAME, HISTORY_…
   */
  async deleteUser(name: string): Promise<Deleted> {
    const { history, archive } = this.opened();
    const author = readName(name);
    const count = { deleted: 0, archived: 0 };
    for await (const changes of pagesOf(history)) {
      for (const [key, messages] of byConversation(changes.filter(({ from }) => from === author))) {
        count.deleted += await history.erase(key, messages);
        tellDeleted(this.context.io, conversationOf(key), rangesOf(messages));
      }
    }
    if (!archive) return count;
    // A batch that was read before may have texts that the search does not find yet.
    await archive.eraseFound([]);
    for await (const messages of archive.search({ author })) {
      count.archived += await archive.eraseFound(messages);
      tellDeleted(this.context.io, conversationOf(messages[0]!.conversation), rangesOf(messages));
    }
    return count;
  }

  /**
   * What the stores have of a user: all messages that they wrote, and the direct messages that they got. Messages that are in
   * the archive come first. A message that is archived meanwhile may come twice, with the same position.
   * @throws GjallarError BAD_NAME, HISTORY_OFF, before the first page; HISTORY_UNAVAILABLE at any time
   */
  export(name: string): AsyncGenerator<object[]> {
    return pages(this.opened(), readName(name));
  }

  private opened(): MessageStores {
    if (!this.stores) throw new GjallarError('HISTORY_OFF');
    return this.stores;
  }
}

/** Everything that the history has, a page in each turn of the event loop. */
export async function* pagesOf(history: HistoryStore, after?: string): AsyncGenerator<Change[]> {
  for (let cursor = after; ; ) {
    const page = await history.changes(cursor, MAX_ERASE);
    if (page.changes.length === 0) return;
    cursor = page.cursor;
    yield page.changes;
    await nextTurn();
  }
}

function byConversation(changes: readonly Change[]): Map<string, Change[]> {
  const found = new Map<string, Change[]>();
  for (const change of changes) {
    const others = found.get(change.conversation);
    if (others) others.push(change);
    else found.set(change.conversation, [change]);
  }
  return found;
}

/** The offsets of messages, in ascending order, as ranges, both ends included. */
function rangesOf(messages: readonly Pick<Change, 'offset'>[]): OffsetRange[] {
  const ranges: [number, number][] = [];
  for (const { offset } of messages) {
    const last = ranges.at(-1);
    if (last && last[1] + 1 === offset) last[1] = offset;
    else ranges.push([offset, offset]);
  }
  return ranges;
}

async function* pages({ history, archive }: MessageStores, user: string): AsyncGenerator<object[]> {
  const isOwn = (key: string) => isBetween(conversationOf(key), user);
  // Everything before it is in the archive, which may go on during the export.
  const archivedUpTo = await archive?.cursor();
  if (archive) {
    for await (const messages of archive.search({ author: user, isOwn })) yield messages.flatMap(lineOf);
  }
  for await (const changes of pagesOf(history, archivedUpTo)) {
    yield changes.filter(({ from, conversation }) => from === user || isOwn(conversation)).flatMap(lineOf);
  }
}

function isBetween(conversation: Conversation, user: string): boolean {
  return 'users' in conversation && conversation.users.includes(user);
}

/** A deleted message has no line. */
function lineOf({ conversation: key, ...message }: StoredMessage & { conversation: string }): object[] {
  return message.from === '' ? [] : [asReceived(conversationOf(key), message)];
}
