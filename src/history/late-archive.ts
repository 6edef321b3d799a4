import type { Archive } from './archive.js';
import { HistoryError } from './errors.js';
import type { PageQuery } from './store.js';

/** What readers need of an archive, before it is open: until then they are told that it cannot be reached. */
export class LateArchive implements Pick<Archive, 'read'> {
  #archive: Archive | undefined;

  opened(archive: Archive): void {
    this.#archive = archive;
  }

  async read(conversation: string, query: PageQuery): ReturnType<Archive['read']> {
    if (!this.#archive) throw new HistoryError('HISTORY_UNAVAILABLE', new Error('the archive is not open yet'));
    return this.#archive.read(conversation, query);
  }
}
