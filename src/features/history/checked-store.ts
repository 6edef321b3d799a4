import { bytesOf, type LogState } from './page.js';
import {
  type AppendOptions,
  type AppendResult,
  type Changes,
  HistoryError,
  type HistoryLimits,
  type HistoryStore,
  MAX_APPEND,
  MAX_ERASE,
  MAX_NAME,
  MAX_PAGE,
  type NewMessage,
  type Page,
  type PageQuery,
  type Position,
} from './store.js';

/** One append, as it waits for its batch. */
export interface AppendJob extends AppendOptions {
  conversation: string;
  messages: readonly NewMessage[];
}

/** How many bytes weigh as much in a batch as one short message. */
const BYTES_PER_WEIGHT = 2048;

/** How much an append adds to the size of its batch. Its time depends on the number of messages and on their bytes. */
export function weightOf({ messages }: AppendJob): number {
  return Math.max(messages.length, Math.ceil(bytesOf(messages) / BYTES_PER_WEIGHT));
}

/** Rejects input that no store could keep, before it can share a transaction with other appends. */
function checkAppend({ conversation, messages, key }: AppendJob): void {
  checkName('conversation', conversation);
  if (key !== undefined) checkName('key', key);
  if (messages.length > MAX_APPEND) throw new RangeError(`An append takes at most ${MAX_APPEND} messages.`);
  for (const message of messages) {
    checkName('from', message.from, 0);
    if (typeof message.text !== 'string') throw new TypeError('The text must be a string.');
    checkCount('at', message.at, 0);
  }
}

function checkErase(conversation: string, epoch: string, offsets: readonly number[]): void {
  checkName('conversation', conversation);
  checkName('epoch', epoch);
  if (offsets.length > MAX_ERASE) throw new RangeError(`At most ${MAX_ERASE} messages are erased at once.`);
  for (const offset of offsets) checkCount('offset', offset, 1);
}

export function checkQuery(conversation: string, query: PageQuery): void {
  checkName('conversation', conversation);
  checkCount('limit', query.limit, 1, MAX_PAGE);
  if (query.epoch !== undefined && typeof query.epoch !== 'string') throw new TypeError('epoch must be a string.');
  if (query.after !== undefined) checkCount('after', query.after, 0);
  if (query.before !== undefined) checkCount('before', query.before, 0);
}

function checkName(what: string, name: string, least = 1): void {
  if (typeof name !== 'string') throw new TypeError(`${what} must be a string.`);
  if (name.length < least || name.length > MAX_NAME) {
    throw new RangeError(`${what} must have ${least} to ${MAX_NAME} characters.`);
  }
}

function checkCount(what: string, value: number, least: number, most = Number.MAX_SAFE_INTEGER): void {
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw new RangeError(`${what} must be an integer from ${least} to ${most}.`);
  }
}

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

  constructor({ ttlMs }: Required<Pick<HistoryLimits, 'ttlMs'>>) {
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
