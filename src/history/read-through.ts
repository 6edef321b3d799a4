import type { ArchiveReader } from './archive/archive.js';
import { fitPage, planPage } from './page.js';
import type { HistoryStore, Page, PageQuery, StoredMessage } from './store.js';

/**
 * Reads a page from the history, and from the archive what the store no longer has. The page keeps the store's
 * contract, as if nothing had ever been trimmed. A position in a lost epoch still starts from the beginning.
 *
 * @throws HistoryError if the store, or the archive where it is needed, cannot be reached
 */
export async function readThrough(
  store: HistoryStore,
  archive: ArchiveReader | undefined,
  conversation: string,
  query: PageQuery,
): Promise<Page> {
  const page = await store.read(conversation, query);
  const { epoch, offset } = page;
  const foreign = query.epoch !== undefined && (query.epoch !== epoch || (query.after ?? 0) > offset);
  if (page.complete || !archive || foreign) return page;

  const { after, before = offset + 1, limit } = query;
  const oldest = page.messages[0]?.offset ?? Math.min(before, offset + 1);
  const found: StoredMessage[] = [];
  let isCut: boolean;
  if (after !== undefined) {
    const older = await archive.read(conversation, { epoch, after, before: oldest, limit });
    found.push(...older.messages);
    if (!older.isCut) found.push(...page.messages.slice(0, limit - older.messages.length));
    // A page of the store that ends early was cut as well.
    const last = page.messages.at(-1);
    isCut = older.isCut || (last !== undefined && last.offset < Math.min(before - 1, offset));
  } else {
    const missing = Math.max(1, limit - page.messages.length);
    const older = await archive.read(conversation, { epoch, before: oldest, limit: missing });
    found.push(...older.messages, ...page.messages);
    isCut = older.isCut;
  }
  const messages = fitPage(found, query);
  isCut ||= messages.length < found.length;
  // Compared with the page that there would be if nothing had ever been trimmed.
  const asked = planPage({ epoch, offset, first: 1, former: [] }, { ...query, limit: isCut ? messages.length : limit });
  const complete =
    messages.length === Math.max(0, asked.to - asked.from + 1) &&
    messages.every((message, index) => message.offset === asked.from + index);
  return { ...page, messages, complete };
}
