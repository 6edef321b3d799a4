import { bytesOf } from './page.js';
import {
  type AppendOptions,
  type AppendResult,
  type Changes,
  checkedText,
  type HistoryCall,
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
  type StoreEvents,
} from './store.js';
import { seeTag } from './tags.js';

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
    checkName('author', message.from, 0);
    checkedText('text', message.text);
    checkCount('at', message.at, 0);
  }
}

function checkErase(conversation: string, places: readonly Position[]): void {
  checkName('conversation', conversation);
  if (places.length > MAX_ERASE) throw new RangeError(`At most ${MAX_ERASE} messages are erased at once.`);
  for (const { offset, tag } of places) {
    checkCount('offset', offset, 1);
    checkCount('tag', tag, 0);
  }
}

export function checkQuery(conversation: string, query: PageQuery): void {
  checkName('conversation', conversation);
  checkCount('limit', query.limit, 1, MAX_PAGE);
  if (query.tag !== undefined) checkCount('tag', query.tag, 0);
  if (query.after !== undefined) checkCount('after', query.after, 0);
  if (query.before !== undefined) checkCount('before', query.before, 0);
}

function checkName(what: string, name: string, least = 1): void {
  checkedText(what, name);
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
  places: readonly Position[];
}

/**
 * What all stores do alike: they reject input that no store could keep, and calls after their end, and tell what becomes of
 * calls. An implementation gets the rest; {@link HistoryStore} says what it must do.
 */
export abstract class CheckedStore implements HistoryStore {
  protected readonly ttlMs: number;
  protected readonly listeners = new Set<StoreEvents>();
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
    if (messages.length === 0) {
      await this.probe(conversation);
      return [];
    }
    const results = await this.timed('append', conversation, this.keep(job));
    seeTag(results.at(-1)!.tag);
    return results;
  }

  async read(conversation: string, query: PageQuery): Promise<Page> {
    checkQuery(conversation, query);
    this.expectOpen();
    const page = await this.timed('read', conversation, this.page(conversation, query));
    seeTag(page.tag);
    return page;
  }

  async head(conversation: string): Promise<Position> {
    checkName('conversation', conversation);
    this.expectOpen();
    const { offset, tag } = await this.state(conversation);
    seeTag(tag);
    return { offset, tag };
  }

  async erase(conversation: string, places: readonly Position[]): Promise<number> {
    checkErase(conversation, places);
    this.expectOpen();
    return places.length === 0 ? 0 : this.blank({ conversation, places });
  }

  async trim(now: number): Promise<number> {
    checkCount('now', now, 0);
    this.expectOpen();
    return this.removeOld(now);
  }

  async changes(after: string | undefined, limit: number): Promise<Changes> {
    checkCount('limit', limit, 1);
    this.expectOpen();
    return this.tail(after, limit);
  }

  listen(events: StoreEvents): void {
    this.listeners.add(events);
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.end();
    this.listeners.clear();
  }

  protected abstract keep(job: AppendJob): Promise<AppendResult[]>;
  protected abstract page(conversation: string, query: PageQuery): Promise<Page>;
  protected abstract state(conversation: string): Promise<Position>;
  protected abstract blank(job: EraseJob): Promise<number>;
  protected abstract removeOld(now: number): Promise<number>;
  protected abstract probe(conversation: string): Promise<void>;
  protected abstract tail(after: string | undefined, limit: number): Promise<Changes>;
  /** Called once, when no further calls are accepted. */
  protected abstract end(): Promise<void>;

  /** @throws HistoryError HISTORY_UNAVAILABLE after {@link close} */
  protected expectOpen(): void {
    if (this.isClosed) throw new HistoryError('HISTORY_UNAVAILABLE', new Error('the store is closed'));
  }

  private async timed<T>(call: HistoryCall, conversation: string, result: Promise<T>): Promise<T> {
    const start = performance.now();
    let failure: HistoryError | undefined;
    try {
      return await result;
    } catch (error) {
      if (error instanceof HistoryError) failure = error;
      throw error;
    } finally {
      for (const { onCall } of this.listeners) onCall?.(call, conversation, performance.now() - start, failure);
    }
  }
}
