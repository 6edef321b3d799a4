import { HistoryError } from './errors.js';
import { type AppendJob, checkAppend, checkCount, checkErase, checkName, checkQuery } from './input.js';
import type { LogState } from './page.js';
import {
  type AppendOptions,
  type AppendResult,
  type Changes,
  DEFAULT_TTL_MS,
  type HistoryLimits,
  type HistoryStore,
  type NewMessage,
  type Page,
  type PageQuery,
  type Position,
} from './store.js';

/** An erasure of messages. */
export interface EraseJob {
  conversation: string;
  epoch: string;
  offsets: readonly number[];
}

/**
 * What all stores do alike: they reject input that no store could keep, and calls after their end, and have nothing to do
 * for an empty list. An implementation gets the rest; {@link HistoryStore} says what it must do.
 */
export abstract class CheckedStore implements HistoryStore {
  protected readonly ttlMs: number;
  private isClosed = false;

  constructor({ ttlMs = DEFAULT_TTL_MS }: HistoryLimits) {
    this.ttlMs = ttlMs;
  }

  async append(
    conversation: string,
    messages: readonly NewMessage[],
    options?: AppendOptions,
  ): Promise<AppendResult[]> {
    const job = { conversation, messages, ...options };
    checkAppend(job);
    this.expectOpen();
    return messages.length === 0 ? [] : this.keep(job);
  }

  async read(conversation: string, query: PageQuery): Promise<Page> {
    checkQuery(conversation, query);
    this.expectOpen();
    return this.page(conversation, query);
  }

  async head(conversation: string): Promise<Position> {
    checkName('conversation', conversation);
    this.expectOpen();
    const { epoch, offset } = await this.state(conversation);
    return { epoch, offset };
  }

  async erase(conversation: string, epoch: string, offsets: readonly number[]): Promise<number> {
    checkErase(conversation, epoch, offsets);
    this.expectOpen();
    return offsets.length === 0 ? 0 : this.blank({ conversation, epoch, offsets });
  }

  async trim(now: number): Promise<number> {
    checkCount('now', now, 0);
    this.expectOpen();
    return this.removeOld(now);
  }

  async check(conversation: string): Promise<void> {
    checkName('conversation', conversation);
    this.expectOpen();
    await this.probe(conversation);
  }

  async changes(after: string | undefined, limit: number): Promise<Changes> {
    checkCount('limit', limit, 1);
    this.expectOpen();
    return this.tail(after, limit);
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.end();
  }

  protected abstract keep(job: AppendJob): Promise<AppendResult[]>;
  protected abstract page(conversation: string, query: PageQuery): Promise<Page> | Page;
  protected abstract state(conversation: string): Promise<LogState> | LogState;
  protected abstract blank(job: EraseJob): Promise<number>;
  protected abstract removeOld(now: number): Promise<number>;
  protected abstract probe(conversation: string): Promise<void>;
  protected abstract tail(after: string | undefined, limit: number): Promise<Changes> | Changes;
  /** Called once, when no further calls are accepted. */
  protected abstract end(): Promise<void>;

  protected get isOpen(): boolean {
    return !this.isClosed;
  }

  /** @throws HistoryError HISTORY_UNAVAILABLE after {@link close} */
  protected expectOpen(): void {
    if (this.isClosed) throw new HistoryError('HISTORY_UNAVAILABLE', new Error('the store is closed'));
  }
}
