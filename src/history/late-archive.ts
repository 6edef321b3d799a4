import type { Archive, ArchiveReader } from './archive.js';
import { HistoryError } from './errors.js';
import type { PageQuery } from './store.js';

/** An archive that may not be open yet: until then its readers are told that it cannot be reached. */
export class LateArchive implements ArchiveReader {
  #archive: Archive | undefined;

  opened(archive: Archive): void {
    this.#archive = archive;
  }

  async read(conversation: string, query: PageQuery): ReturnType<ArchiveReader['read']> {
    if (!this.#archive) throw new HistoryError('HISTORY_UNAVAILABLE', new Error('the archive is not open yet'));
    return this.#archive.read(conversation, query);
  }
}
