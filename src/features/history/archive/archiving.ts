import { setTimeout as sleep } from 'node:timers/promises';
import { featureFigures, type Readings } from '../../../base/figures.js';
import { CheckedOutage } from '../../../base/outage.js';
import { own } from '../../../base/owner.js';
import type { ArchiveReader } from '../page.js';
import { HistoryError, type HistoryStore, type PageQuery } from '../store.js';
import { Archive } from './archive.js';
import { Archiver } from './archiver.js';

/** How long until another attempt to open the archive. */
const RETRY_MS = 1000;

/** The archive and its archiver, which start when the database can be reached. */
export class Archiving {
  readonly reader = new LateArchive();
  archiver: Archiver | undefined;
  private archive: Archive | undefined;
  private readonly writing: CheckedOutage;
  private readonly stop = new AbortController();
  private readonly uncount = featureFigures.add(() => this.readings);

  constructor(url: string, history: HistoryStore) {
    this.writing = new CheckedOutage({
      reasonFor: (error) =>
        this.archive && error instanceof HistoryError
          ? { code: 'HISTORY_UNREADABLE', text: 'the history cannot be read: new messages wait to be archived' }
          : { code: 'ARCHIVE_FAILS', text: 'the archive cannot be written to: new messages wait to be archived' },
      check: async () => {
        await history.head('/');
        if (!this.archive) throw new Error('the archive is not open yet');
        await this.archive.cursor();
      },
    });
    own('opening the archive', this.open(url, history));
  }

  async close(): Promise<void> {
    this.stop.abort();
    this.uncount();
    this.writing.close();
    this.reader.close();
    await this.archiver?.stop();
    await this.archive?.close();
  }

  /** How far the archive lags behind the store. */
  private get readings(): Readings {
    if (!this.archiver) return {};
    const { lagMs, archived } = this.archiver;
    return {
      gjallar_archive_lag_seconds: lagMs === undefined ? undefined : lagMs / 1000,
      gjallar_archive_messages_total: archived,
    };
  }

  private async open(url: string, history: HistoryStore): Promise<void> {
    const { signal } = this.stop;
    while (!signal.aborted) {
      try {
        const archive = await Archive.open(url);
        if (signal.aborted) return await archive.close();
        this.archive = archive;
        this.archiver = new Archiver(history, archive, { onError: (error) => this.failed(error) });
        this.archiver.start();
        this.reader.opened(archive);
        if (this.writing.isInProgress) await this.writing.check();
        return;
      } catch (error) {
        this.failed(error);
        await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
      }
    }
  }

  private failed(error: unknown): void {
    if (!this.stop.signal.aborted) this.writing.failed(error);
  }
}

/** An archive that may not be open yet. Until it is, reads fail as if it were unreachable. */
export class LateArchive implements ArchiveReader {
  private archive: Archive | undefined;
  private readonly reading = new CheckedOutage({
    reasonFor: () => ({
      code: 'ARCHIVE_FAILS',
      text: 'the archive cannot be read: old messages are missing from the history',
    }),
    check: async () => this.archive?.cursor(),
  });

  opened(archive: Archive): void {
    this.archive = archive;
  }

  close(): void {
    this.reading.close();
  }

  /** @throws HistoryError HISTORY_UNAVAILABLE if it is not open yet */
  open(): Archive {
    if (!this.archive) throw new HistoryError('HISTORY_UNAVAILABLE', new Error('the archive is not open yet'));
    return this.archive;
  }

  async read(conversation: string, query: PageQuery): ReturnType<ArchiveReader['read']> {
    const archive = this.open();
    try {
      return await archive.read(conversation, query);
    } catch (error) {
      if (error instanceof HistoryError) this.reading.failed(error);
      throw error;
    }
  }
}
