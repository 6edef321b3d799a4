import { GjallarError } from '../../base/errors.js';
import { integer, number, row } from '../../base/options.js';
import type { LossNotices } from './loss/watch.js';

export type HistoryErrorCode = 'HISTORY_UNAVAILABLE' | 'HISTORY_REFUSED' | 'HISTORY_UNCERTAIN';

/**
 * A call of the history failed. With `HISTORY_UNCERTAIN`, its messages may have been kept; with the other codes, nothing
 * was. Clients get the code and the message of the list of errors. The error of the database is the `cause`, for the log.
 */
export class HistoryError extends GjallarError {
  declare readonly code: HistoryErrorCode;

  constructor(code: HistoryErrorCode, cause?: unknown) {
    super(code);
    this.name = 'HistoryError';
    this.cause = cause;
  }
}

/** A message to be kept. */
export interface NewMessage {
  from: string;
  text: string;
  /** When it was posted, in milliseconds since 1970. Its age counts from here. */
  at: number;
}

export interface AppendOptions {
  /**
   * Idempotency key of the append, unique within the conversation. The store remembers the key for its TTL. If you do
   * not know whether an append was stored, repeat it with the same key.
   */
  key?: string;
  /** Any value that identifies the client. While the store is busy, clients take turns. */
  client?: unknown;
}

/** The position of a message. Offset 0, with the tag 0, is before the first message. */
export interface Position {
  offset: number;
  tag: number;
}

export function positionOf({ offset, tag }: Position): Position {
  return { offset, tag };
}

/** The position of an appended message; `duplicate` says that an earlier append with the same key has kept it. */
export interface AppendResult extends Position {
  /** The tag of the message before it; 0 if there was none. */
  before: number;
  duplicate?: true;
}

/** The results of an append of `count` messages whose last one is at a position: those of one append have successive tags. */
export function resultsOf(last: Position, count: number, before: number, duplicate?: true): AppendResult[] {
  return Array.from({ length: count }, (_, index) => {
    const tag = last.tag - count + 1 + index;
    const offset = last.offset - count + 1 + index;
    return { offset, tag, before: index === 0 ? before : tag - 1, ...(duplicate && { duplicate }) };
  });
}

/** A message as it was kept. Without author and text, it is one that was erased. */
export interface StoredMessage extends Position, NewMessage {}

export interface PageQuery {
  /**
   * The tag of the message at `after`, or at `before` if there is no `after`, which the store compares with its own.
   * @default 0: any message is the right one
   */
  tag?: number;
  /** Reads forwards: messages with a higher offset, the oldest first. 0 starts at the beginning. */
  after?: number;
  /** Reads backwards: messages with a lower offset; without `after`, the newest of them. */
  before?: number;
  /** Maximum number of messages of the page, from 1 to {@link MAX_PAGE}. */
  limit: number;
}

/** `offset` and `tag` are the newest position of the conversation, not of the page. */
export interface Page extends Position {
  /**
   * Oldest first, without gaps. With neither `after` nor `before` these are the newest. There may be fewer than `limit`
   * because of {@link MAX_PAGE_BYTES}: a page that is not empty and does not reach `offset`, or `before`, can be
   * continued after its last message. One that was read backwards can be continued before its first message.
   */
  messages: StoredMessage[];
  /** The offset before the first message of the page; without messages, where a reader goes on. */
  after: number;
  /**
   * False when part of the asked range is gone: trimmed, or lost. The asked range is what a reader would have got had nothing
   * ever been removed: the `limit` messages next to the position asked for.
   */
  complete: boolean;
  /**
   * The log does not have the message that the query names, or ends before it: the store has lost what the reader has read, and
   * perhaps more. The page is then next to the newest message of the log that is not newer than the one that is named. If all are
   * older, the reader goes on with `offset` and `tag`, which is then lower than its own.
   */
  lost?: true;
}

/** A message that names the one before it. */
export interface LinkedMessage extends StoredMessage {
  /** The tag of the message before it; 0 if there was none. */
  before: number;
}

/** A message in the log of changes. */
export interface Change extends LinkedMessage {
  conversation: string;
}

export interface Changes {
  changes: Change[];
  /** Pass it to the next call. It stays valid over restarts. */
  cursor: string;
}

/** The most messages of one append, and of one page. */
export const MAX_APPEND = 1000;
export const MAX_PAGE = 1000;
/** The most messages that are erased at once. */
export const MAX_ERASE = 500;
/**
 * The most bytes of one page, as JSON. A page that would be larger ends early, as if a smaller `limit` had been asked
 * for, but it has at least one message. On a slow link, other messages must have a place behind it (MAX_BACKPRESSURE).
 */
export const MAX_PAGE_BYTES = 786_432;

/** What users wait for. */
export type HistoryCall = 'append' | 'read';

/** What happens to a store, for those who use it and for the operator. */
export interface StoreEvents {
  /** The store can be reached, for the first time or again. It may have another state than before. */
  onReady?(): void;
  /** The store cannot be reached, for this reason. */
  onDown?(reason: Error): void;
  /** The store has noticed that it lost messages that it had confirmed. */
  onLost?(): void;
  /** With its settings, the store may lose such messages; undefined once that is over. */
  onRisk?(risk: string | undefined): void;
  /** An append or a read has ended, after this time. */
  onCall?(call: HistoryCall, conversation: string, ms: number, error?: HistoryError): void;
  /** Messages were removed because the store was too large. */
  onTrimmed?(count: number): void;
}

/**
 * The store of the history: what an implementation must do, and must not do.
 *
 * A conversation is a log. Every message in it has an offset, counted from 1 without gaps, and a tag. The store gives out both,
 * so all workers and machines that share it see one sequence. Tags grow from message to message, and also beyond those of
 * messages that the store has lost: see `tags.ts`. A reader names the offset and the tag of the last message that it has read.
 * If the store has another message there, or none, it has lost something, and the order of tags shows where the reader goes on.
 */
export interface HistoryStore {
  /**
   * Keeps messages at the end of a conversation, all or none, next to each other.
   *
   * Offsets are given out atomically among all processes that share the store. It resolves once the messages are as safe
   * as the store can make them, with one result per message in their order. If `key` was used in this conversation within
   * the TTL, nothing is kept: the results are the positions up to the last message of the earlier append. The store
   * does not compare the messages; an offset below 1 says that the earlier append had fewer of them.
   * An append of no messages tries whether one would be kept, and leaves nothing that readers see.
   *
   * @param conversation any string of 1 to {@link MAX_NAME} characters without lone surrogates
   * @param messages at most {@link MAX_APPEND}
   * @throws HistoryError in bounded time, if the store rejects the append or cannot be reached. Nothing is kept then,
   *   unless the code is `HISTORY_UNCERTAIN`: the answer was lost, and only a repetition with the same key can tell.
   * @throws RangeError, or GjallarError BAD_INPUT, for input that no store could keep, such as a text with a lone surrogate
   */
  append(conversation: string, messages: readonly NewMessage[], options?: AppendOptions): Promise<AppendResult[]>;

  /**
   * Reads a page, in time that depends neither on the length of the conversation nor on the place of the page in it.
   * A read creates nothing.
   *
   * @throws HistoryError if the store cannot be reached
   */
  read(conversation: string, query: PageQuery): Promise<Page>;

  /** The newest position, with offset and tag 0 if there never was a message. */
  head(conversation: string): Promise<Position>;

  /**
   * Erases messages. Each keeps its position, so that readers do not wait for it: it is read as a message with an empty
   * author and an empty text. Its time may be 0, and its tag that of a message before it. A store that has lost its time may keep
   * it until the next message that is not erased is too old, and so say `complete` for longer.
   *
   * @param places at most {@link MAX_ERASE}; those of messages that the log does not have are ignored
   * @returns how many messages had an author or a text
   * @throws HistoryError if the store rejects it or cannot be reached; a repetition does no harm
   */
  erase(conversation: string, places: readonly Position[]): Promise<number>;

  /**
   * Removes messages older than the TTL, in each conversation from the oldest up to the first that is not. Offsets do
   * not change. The maximum count needs no trimming: an append removes what exceeds it. An empty conversation is
   * forgotten, and its offsets with it, after {@link retentionOf} its TTL without a message. One caller per store, about
   * once a minute, is enough; several do no harm.
   *
   * @param now milliseconds since 1970
   * @returns how many messages were removed
   */
  trim(now: number): Promise<number>;

  /**
   * Tails all appends to all conversations, for an archiver. The messages of one conversation come in the order of their
   * offsets; the order between conversations is not defined. Messages that are trimmed before they are read here are
   * missing. After the store was restored from a backup a message may come again, with the same conversation and position.
   *
   * @param after the cursor of the previous call; undefined to start with the oldest
   * @param limit the most changes; fewer where they are large
   * @returns the next changes; none at the end of the log
   */
  changes(after: string | undefined, limit: number): Promise<Changes>;

  /** Tells what happens to the store from now on, and what has happened that is not over. */
  listen(events: StoreEvents): void;

  /** How many bytes the messages take; undefined if the store cannot tell cheaply. */
  readonly bytes?: number | undefined;

  /** Where a loss is noted for all workers that share the store. @default in the memory of each worker */
  readonly lossNotices?: LossNotices;

  /** Finishes the calls in progress and closes the store. Later calls are rejected. */
  close(): Promise<void>;
}

/** The longest name of a conversation, author or key, in UTF-16 code units. */
export const MAX_NAME = 1024;

/**
 * A text that a store gives back as it is: UTF-8 has no lone surrogates.
 * @throws GjallarError BAD_INPUT
 */
export function checkedText(what: string, text: unknown): string {
  if (typeof text === 'string' && text.isWellFormed()) return text;
  throw new GjallarError('BAD_INPUT', `In a history, the ${what} must be a string without lone surrogates.`);
}

/** The options of every store. */
export interface HistoryLimits {
  /** How long a message is kept, in ms. @default 24 hours */
  ttlMs?: number;
  /** How many messages of a conversation are kept. Beyond it, an append removes the oldest. @default 100,000 */
  maxMessages?: number;
}

const DEFAULT_TTL_MS = 24 * 3_600_000;
const DEFAULT_MAX_MESSAGES = 100_000;

/** What every store accepts. */
export const limitOptions = {
  ttlMs: row(number(1, undefined, 'ms'), DEFAULT_TTL_MS),
  maxMessages: row(integer(1), DEFAULT_MAX_MESSAGES),
};

/** How long an empty conversation keeps its newest position, in milliseconds: a week, or twice the TTL. */
export const retentionOf = (ttlMs: number): number => Math.max(2 * ttlMs, 7 * 24 * 3_600_000);
