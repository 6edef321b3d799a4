import { Batcher, type Entry } from '../batcher.js';
import { type AppendJob, type EraseJob, weightOf } from '../checked-store.js';
import { isBusy, retryWhileBusy } from '../files.js';
import { type AppendResult, HistoryError } from '../store.js';
import { Appender, appendStatements, Forgetter, forgetStatements } from './append.js';
import { prepareAll, type Statement, type WriteConnection } from './connection.js';
import { SizeLimit, sizeStatements, type TrimJob, Trimmer, type TrimOutcome, trimStatements } from './trim.js';

export interface WriterOptions {
  maxMessages: number;
  maxBytes: number | undefined;
  /** Told how many messages were removed because the file was too large. */
  onTrimmed(count: number): void;
}

type Job = { append: AppendJob } | { trim: TrimJob } | { erase: EraseJob } | 'trim to size' | 'check';
type Outcome = AppendResult[] | TrimOutcome | number;

/** The weight of one transaction: about three milliseconds of this thread. See {@link weightOf}. */
const MAX_BATCH = 500;
/** While the store is busy, the shortest time between the beginnings of two commits. */
const WINDOW_MS = 2;

/**
 * Everything that this process writes, one transaction after the other.
 *
 * libsql's calls are synchronous, so what could take long is kept off this thread or out of the lock:
 *
 *     BEGIN IMMEDIATE   here, without waiting: while another process writes, try again a millisecond later
 *     INSERT …          here, a few microseconds each, into pages in memory
 *     COMMIT            on libsql's thread: writing, syncing and checkpointing do not block the event loop, and the
 *                       lock is released there, however busy the event loop is
 *
 * What is appended meanwhile makes the next transaction.
 */
export class SqliteWriter {
  private readonly batcher: Batcher<Job, Outcome>;

  private constructor(
    private readonly connection: WriteConnection,
    private readonly options: WriterOptions,
    private readonly parts: {
      begin: Statement;
      touch: Statement;
      appender: Appender;
      trimmer: Trimmer;
      size: SizeLimit;
    },
  ) {
    this.batcher = new Batcher({
      commit: (entries) => this.transact(entries),
      windowMs: WINDOW_MS,
      maxWeight: MAX_BATCH,
      concurrency: 1,
    });
  }

  static async prepare(connection: WriteConnection, options: WriterOptions): Promise<SqliteWriter> {
    const { maxMessages, maxBytes } = options;
    const begin = await connection.prepare('BEGIN IMMEDIATE');
    const touch = await connection.prepare('UPDATE checks SET at = at');
    const forgetter = new Forgetter(await prepareAll(connection, forgetStatements));
    const appender = new Appender(await prepareAll(connection, appendStatements), maxMessages);
    const trimmer = new Trimmer(await prepareAll(connection, trimStatements), forgetter);
    const size = new SizeLimit(await prepareAll(connection, sizeStatements), forgetter, maxBytes);
    return new SqliteWriter(connection, options, { begin, touch, appender, trimmer, size });
  }

  async append(append: AppendJob): Promise<AppendResult[]> {
    return (await this.batcher.add({ append }, weightOf(append), append.client)) as AppendResult[];
  }

  /** Is the last of its transaction, so that appends get their turn between two of them. */
  async trim(trim: TrimJob): Promise<TrimOutcome> {
    return (await this.batcher.add({ trim }, MAX_BATCH)) as TrimOutcome;
  }

  async erase(erase: EraseJob): Promise<number> {
    return (await this.batcher.add({ erase }, MAX_BATCH)) as number;
  }

  /** Applies the {@link SizeLimit} in a transaction without an append. */
  async trimToSize(): Promise<TrimOutcome> {
    return (await this.batcher.add('trim to size', MAX_BATCH)) as TrimOutcome;
  }

  /** Writes and commits something that no reader sees. */
  async check(): Promise<void> {
    await this.batcher.add('check', MAX_BATCH);
  }

  /** Finishes what is queued. The database file then contains everything, unless other processes still use it. */
  async close(): Promise<void> {
    await this.batcher.idle();
    await this.connection.exec('PRAGMA wal_checkpoint(TRUNCATE)').catch(() => {});
    this.connection.close();
  }

  private async transact(entries: Entry<Job, Outcome>[]): Promise<void> {
    const { begin, touch, appender, trimmer, size } = this.parts;
    try {
      await retryWhileBusy(() => begin.run([]));
      const outcomes = entries.map(({ job }) => {
        if (job === 'trim to size') return undefined;
        if (job === 'check') return void touch.run([]);
        if ('erase' in job) return appender.erase(job.erase);
        if ('append' in job) return appender.append(job.append);
        // A trim reads and changes the rows of the appends before it.
        appender.finish();
        return trimmer.chunk(job.trim);
      });
      appender.finish();
      const trimmed = size.trim();
      await this.connection.exec('COMMIT');
      if (trimmed.removed > 0) this.options.onTrimmed(trimmed.removed);
      for (const [index, entry] of entries.entries()) entry.resolve(outcomes[index] ?? trimmed);
    } catch (error) {
      appender.forget();
      // SQLite has already rolled back by itself where the disk is full.
      if (this.connection.inTransaction) await this.connection.exec('ROLLBACK');
      throw historyError(error);
    }
  }
}

export function historyError(error: unknown): HistoryError {
  if (error instanceof HistoryError) return error;
  return new HistoryError(isBusy(error) ? 'HISTORY_UNAVAILABLE' : 'HISTORY_REFUSED', error);
}
