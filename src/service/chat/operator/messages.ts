import { setImmediate as nextTurn } from 'node:timers/promises';
import { GjallarError } from '../../../base/errors.js';
import {
  type Change,
  type Conversation,
  conversationOf,
  type HistoryStore,
  keyOf,
  MAX_ERASE,
} from '../../../features/history/index.js';
import type { ChatContext } from '../context.js';
import type { LateArchive } from '../conversations/kept-messages.js';
import { asChatMessage, asDirectMessage, tellDeleted } from '../conversations/post.js';
import { readName, readRoom } from '../input.js';
import type { OffsetRange } from '../protocol.js';

/** The stores that keep messages. */
export interface MessageStores {
  history: HistoryStore;
  archive: LateArchive | undefined;
}

/** How many messages had a text: in the history, and in the archive. Most of them are in both. */
export interface Deleted {
  deleted: number;
  archived: number;
}

type Place = Pick<Change, 'conversation' | 'offset'>;

/**
 * Deletes messages for the operator, in the history and then in the archive. Their positions stay, and readers are told.
 * Each call can be repeated, and goes on where an earlier one has failed.
 */
export class MessageDeletion {
  constructor(
    private readonly context: ChatContext,
    private readonly stores: MessageStores | undefined,
  ) {}

  /**
   * Deletes one message of a room.
   * @param epoch the epoch that the offset belongs to; by default, the present one
   * @throws GjallarError BAD_ROOM, NOT_FOUND, HISTORY_…
   */
  async message(room: string, offset: number, epoch?: string): Promise<object> {
    const { history, archive } = this.opened();
    const conversation = { room: readRoom(room) };
    const key = keyOf(conversation);
    const head = await history.head(key);
    if (offset < 1 || offset > head.offset || (epoch !== undefined && epoch !== head.epoch)) {
      throw new GjallarError('NOT_FOUND', 'The room has no message at this position. Check the offset and the epoch.');
    }
    await history.erase(key, head.epoch, [offset]);
    await archive?.open().erase(key, head.epoch, [offset]);
    tellDeleted(this.context, conversation, head.epoch, [[offset, offset]]);
    return { epoch: head.epoch, offset };
  }

  /**
   * Deletes all messages of a room up to its newest one.
   * @throws GjallarError BAD_ROOM, HISTORY_…
   */
  async room(room: string): Promise<Deleted & { epoch: string; offset: number }> {
    const { history, archive } = this.opened();
    const conversation = { room: readRoom(room) };
    const key = keyOf(conversation);
    let deleted = 0;
    for (;;) {
      const { epoch, offset } = await history.head(key);
      const oldest = await history.read(key, { after: 0, limit: 1 });
      for (let first = oldest.messages[0]?.offset ?? offset + 1; first <= offset; first += MAX_ERASE) {
        const count = Math.min(MAX_ERASE, offset - first + 1);
        deleted += await history.erase(key, epoch, range(first, count));
      }
      // Redis may have been restarted meanwhile.
      if ((await history.head(key)).epoch !== epoch) continue;
      const archived = (await archive?.open().eraseConversation(key)) ?? 0;
      if (offset > 0) tellDeleted(this.context, conversation, epoch, [[1, offset]]);
      return { epoch, offset, deleted, archived };
    }
  }

  /**
   * Deletes all messages that a user has written, to rooms and to other users.
   * @throws GjallarError BAD_NAME, HISTORY_…
   */
  async user(name: string): Promise<Deleted> {
    const { history, archive } = this.opened();
    const author = readName(name);
    const count = { deleted: 0, archived: 0 };
    for await (const changes of pagesOf(history)) {
      for (const [key, offsets] of byConversation(changes.filter(({ from }) => from === author))) {
        const { epoch } = await history.head(key);
        count.deleted += await history.erase(key, epoch, offsets);
        tellDeleted(this.context, conversationOf(key), epoch, rangesOf(offsets));
      }
    }
    if (!archive) return count;
    for await (const messages of archive.open().search({ author })) {
      count.archived += await archive.open().eraseFound(messages);
      const [{ conversation, epoch }] = messages as [(typeof messages)[number]];
      tellDeleted(this.context, conversationOf(conversation), epoch, rangesOf(messages.map(({ offset }) => offset)));
    }
    return count;
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

function byConversation(places: readonly Place[]): Map<string, number[]> {
  const offsets = new Map<string, number[]>();
  for (const { conversation, offset } of places) {
    const others = offsets.get(conversation);
    if (others) others.push(offset);
    else offsets.set(conversation, [offset]);
  }
  return offsets;
}

const range = (first: number, count: number): number[] => Array.from({ length: count }, (_, index) => first + index);

/** Offsets in ascending order as ranges, both ends included. */
function rangesOf(offsets: readonly number[]): OffsetRange[] {
  const ranges: [number, number][] = [];
  for (const offset of offsets) {
    const last = ranges.at(-1);
    if (last && last[1] + 1 === offset) last[1] = offset;
    else ranges.push([offset, offset]);
  }
  return ranges;
}

/** One line of an export. */
export type ExportLine = object;

/**
 * What the stores have of a user: all messages that they wrote, and the direct messages that they got. Messages that are in
 * the archive come first. A message that is archived meanwhile may come twice, with the same position.
 * @throws GjallarError BAD_NAME, HISTORY_OFF, before the first page; HISTORY_UNAVAILABLE at any time
 */
export function exportOf(stores: MessageStores | undefined, name: string): AsyncGenerator<ExportLine[]> {
  if (!stores) throw new GjallarError('HISTORY_OFF');
  return pages(stores, readName(name));
}

async function* pages({ history, archive }: MessageStores, user: string): AsyncGenerator<ExportLine[]> {
  const isOwn = (key: string) => isBetween(conversationOf(key), user);
  // Everything before it is in the archive, which may go on during the export.
  const archivedUpTo = await archive?.open().cursor();
  if (archive) {
    for await (const messages of archive.open().search({ author: user, isOwn })) yield messages.flatMap(lineOf);
  }
  for await (const changes of pagesOf(history, archivedUpTo)) {
    yield changes.filter(({ from, conversation }) => from === user || isOwn(conversation)).flatMap(lineOf);
  }
}

function isBetween(conversation: Conversation, user: string): boolean {
  return 'users' in conversation && conversation.users.includes(user);
}

/** A deleted message has no line. */
function lineOf({ conversation: key, ...message }: Change): ExportLine[] {
  if (message.from === '') return [];
  const conversation = conversationOf(key);
  if ('room' in conversation) return [asChatMessage(conversation.room, message)];
  return [asDirectMessage(conversation.users, message)];
}
