import type { HistoryStore } from '../store.js';
import type { Archiving } from './archiving.js';

/**
 * Copies the messages of a store to a database, where they stay when the store removes them. It does not wait for the
 * database: what needs it rejects until it can be reached, and the operator learns of it. Call it on every worker; one of
 * all copies at a time.
 *
 * ```
 * const archiving = await openArchive('postgres://localhost/chat', store);
 * const conversations = openConversations(io, { store, archive: archiving, … });
 * ```
 * @param url `postgres://…` or `mysql://…`
 */
export async function openArchive(url: string, store: HistoryStore): Promise<Archiving> {
  // Only a process that has an archive loads the clients of databases.
  const { Archiving } = await import('./archiving.js');
  return new Archiving(url, store);
}
