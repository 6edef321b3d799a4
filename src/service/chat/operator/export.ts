import { GjallarError } from '../../../base/errors.js';
import { type Conversation, conversationOf } from '../../../features/history/conversations/conversation.js';
import type { Change } from '../../../features/history/store.js';
import { asChatMessage, asDirectMessage } from '../conversations/post.js';
import { readName } from '../input.js';
import { type MessageStores, pagesOf } from './messages.js';

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
function lineOf({ conversation: key, ...message }: Change): ExportLine[] {
  if (message.from === '') return [];
  const conversation = conversationOf(key);
  if ('room' in conversation) return [asChatMessage(conversation.room, message)];
  return [asDirectMessage(conversation.users, message)];
}
