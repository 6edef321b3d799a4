import { featureFigures, type Readings } from '../../../base/figures.js';
import { CheckedOutage } from '../../../base/outage.js';
import type { ArchiveReader } from '../page.js';
import { HistoryError, type HistoryStore, type PageQuery } from '../store.js';
import { Archive, ArchiveUnavailable } from './archive.js';
import { Archiver } from './archiver.js';

/** The archive of a store and its archiver, and what the operator learns of them. */
export class Archiving implements ArchiveReader {
  readonly archive: Archive;
  private readonly archiver: Archiver;
  private readonly writing: CheckedOutage;
  private readonly reading: CheckedOutage;
  private readonly uncount = featureFigures.add(() => this.readings);

  /** @throws RangeError for a URL of another database */
  constructor(url: string, history: HistoryStore) {
    const archive = new Archive(url);
    this.archive = archive;
    this.writing = new CheckedOutage({
      reasonFor: (error) =>
        error instanceof HistoryError && !(error instanceof ArchiveUnavailable)
          ? { code: 'HISTORY_UNREADABLE', text: 'the history cannot be read: new messages wait to be archived' }
          : { code: 'ARCHIVE_FAILS', text: 'the archive cannot be written to: new messages wait to be archived' },
      check: async () => {
        await history.head('/');
        await archive.cursor();
      },
    });
    this.reading = new CheckedOutage({
      reasonFor: () => ({
        code: 'ARCHIVE_FAILS',
        text: 'the archive cannot be read: old messages are missing from the history',
      }),
      check: async () => archive.cursor(),
    });
    this.archiver = new Archiver(history, archive, { onError: (error) => this.writing.failed(error) });
    this.archiver.start();
  }

  async read(conversation: string, query: PageQuery): ReturnType<ArchiveReader['read']> {
    try {
      return await this.archive.read(conversation, query);
    } catch (error) {
      if (error instanceof HistoryError) this.reading.failed(error);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.uncount();
    await this.archiver.stop();
    this.writing.close();
    this.reading.close();
    await this.archive.close();
  }

  /** How far the archive lags behind the store. */
  private get readings(): Readings {
    const { lagMs, archived } = this.archiver;
    return {
      gjallar_archive_lag_seconds: lagMs === undefined ? undefined : lagMs / 1000,
      gjallar_archive_messages_total: archived,
    };
  }
}
