import { Histogram, type Registry } from 'prom-client';
import type { Archiver } from '../history/archive/archiver.js';
import { HistoryError } from '../history/errors.js';
import type {
  AppendOptions,
  AppendResult,
  Changes,
  HistoryStore,
  NewMessage,
  Page,
  PageQuery,
  Position,
} from '../history/store.js';
import { counter, gauge, type Metric } from './metric.js';

/** In seconds. */
const BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

/** A store that times what users wait for, and counts what fails. */
export class MeasuredHistory implements HistoryStore {
  private readonly failures = new Map<string, number>();
  private readonly appends: Histogram.Internal<'call'>;
  private readonly reads: Histogram.Internal<'call'>;

  constructor(
    private readonly store: HistoryStore,
    registry: Registry,
  ) {
    const seconds = new Histogram({
      name: 'gjallar_history_seconds',
      help: 'How long the history took to keep messages (append), or to read a page (read).',
      labelNames: ['call'],
      buckets: BUCKETS,
      registers: [registry],
    });
    this.appends = seconds.labels('append');
    this.reads = seconds.labels('read');
  }

  metrics(): Metric[] {
    return [
      {
        name: 'gjallar_history_failures_total',
        type: 'counter',
        help: 'Calls that the history did not do, by the code of the error.',
        labels: ['code'],
        read: () => this.failures,
      },
    ];
  }

  append(conversation: string, messages: readonly NewMessage[], options?: AppendOptions): Promise<AppendResult[]> {
    return this.timed(this.appends, this.store.append(conversation, messages, options));
  }

  read(conversation: string, query: PageQuery): Promise<Page> {
    return this.timed(this.reads, this.store.read(conversation, query));
  }

  head(conversation: string): Promise<Position> {
    return this.store.head(conversation);
  }

  trim(now: number): Promise<number> {
    return this.store.trim(now);
  }

  changes(after: string | undefined, limit: number): Promise<Changes> {
    return this.store.changes(after, limit);
  }

  close(): Promise<void> {
    return this.store.close();
  }

  private async timed<T>(seconds: Histogram.Internal<'call'>, call: Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await call;
    } catch (error) {
      if (error instanceof HistoryError) this.failures.set(error.code, (this.failures.get(error.code) ?? 0) + 1);
      throw error;
    } finally {
      seconds.observe((performance.now() - start) / 1000);
    }
  }
}

/** How far the archive is behind. */
export function archiveMetrics(archiver: () => Archiver | undefined): Metric[] {
  return [
    gauge(
      'gjallar_archive_lag_seconds',
      'Age of what waits to be archived, as the worker that archives knows it; of the others there is none.',
      () => {
        const lag = archiver()?.lagMs;
        return lag === undefined ? undefined : lag / 1000;
      },
    ),
    counter(
      'gjallar_archive_messages_total',
      'Messages that the worker has written to the archive.',
      () => archiver()?.archived,
    ),
    counter(
      'gjallar_archive_failures_total',
      'How often archiving failed; it is tried again each second.',
      () => archiver()?.failures,
    ),
  ];
}
