import { Histogram, type Readings } from '../../base/figures.js';
import type { Archiver } from './archive/archiver.js';
import {
  type AppendOptions,
  type AppendResult,
  type Changes,
  HistoryError,
  type HistoryStore,
  type NewMessage,
  type Page,
  type PageQuery,
  type Position,
  type StoreEvents,
} from './store.js';

/** The bounds of the histogram, in seconds. */
const BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

/** What users wait for. */
export type HistoryCall = 'append' | 'read';

interface MeasuredOptions {
  /** Whether this worker trims the store. It alone reports the size, because all workers share the store. */
  isTrimmer(): boolean;
  /** Called after every append and read that failed. */
  onFailure(call: HistoryCall, conversation: string, error: HistoryError): void;
}

/** A store that measures how long users wait, and counts failures. */
export class MeasuredHistory implements HistoryStore {
  private readonly failures = new Map<string, number>();
  private trimmedForAge = 0;
  private readonly seconds = new Histogram(BUCKETS, ['append', 'read']);

  constructor(
    private readonly store: HistoryStore,
    private readonly options: MeasuredOptions,
  ) {}

  readonly readings = (): Readings => ({
    gjallar_history_seconds: this.seconds.read(),
    gjallar_history_failures_total: this.failures,
    gjallar_history_trimmed_total: [
      ['age', this.trimmedForAge],
      ['size', this.store.trimmedForSize ?? 0],
    ],
    gjallar_history_bytes: this.options.isTrimmer() ? this.store.bytes : undefined,
  });

  append(conversation: string, messages: readonly NewMessage[], options?: AppendOptions): Promise<AppendResult[]> {
    return this.timed('append', conversation, this.store.append(conversation, messages, options));
  }

  read(conversation: string, query: PageQuery): Promise<Page> {
    return this.timed('read', conversation, this.store.read(conversation, query));
  }

  head(conversation: string): Promise<Position> {
    return this.store.head(conversation);
  }

  erase(conversation: string, epoch: string, offsets: readonly number[]): Promise<number> {
    return this.store.erase(conversation, epoch, offsets);
  }

  async trim(now: number): Promise<number> {
    const removed = await this.store.trim(now);
    this.trimmedForAge += removed;
    return removed;
  }

  changes(after: string | undefined, limit: number): Promise<Changes> {
    return this.store.changes(after, limit);
  }

  check(conversation: string): Promise<void> {
    return this.store.check(conversation);
  }

  listen(events: StoreEvents): void {
    this.store.listen?.(events);
  }

  close(): Promise<void> {
    return this.store.close();
  }

  private async timed<T>(call: HistoryCall, conversation: string, result: Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await result;
    } catch (error) {
      if (error instanceof HistoryError) {
        this.failures.set(error.code, (this.failures.get(error.code) ?? 0) + 1);
        this.options.onFailure(call, conversation, error);
      }
      throw error;
    } finally {
      this.seconds.observe(call, (performance.now() - start) / 1000);
    }
  }
}

/** How far the archive lags behind the store. */
export function archiveReadings(archiver: Archiver | undefined): Readings {
  if (!archiver) return {};
  const { lagMs, archived } = archiver;
  return {
    gjallar_archive_lag_seconds: lagMs === undefined ? undefined : lagMs / 1000,
    gjallar_archive_messages_total: archived,
  };
}
