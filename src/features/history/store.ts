import { createHash, randomBytes } from 'node:crypto';
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

/** The name of a new log: random, so that no two logs ever share one. */
export const freshEpoch = (): string => randomBytes(9).toString('base64url');

/**
 * The epoch that a conversation's first message will have. It follows from the store's seed, so that all readers agree on
 * it although nothing is written for a conversation without messages.
 */
export const epochFrom = (seed: string, conversation: string): string =>
  createHash('sha256').update(`${seed} ${conversation}`).digest('base64url').slice(0, 12);

/**
 * The store of the history: what an implementation must do, and must not do.
 *
 * A conversation is a log. Every message in it has an offset, counted from 1 without gaps. The store gives out the
 * offsets, so all workers and machines that share it see one sequence. The epoch names the log. Two positions can be
 * compared only if their epochs are the same. A new epoch says that the log was lost, in whole or in part, or that the
 * store cannot rule that out.
 */
/** A message to be kept. Text is kept as well-formed Unicode: a lone surrogate is read as U+FFFD. */
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

/** The position of a message. Offset 0 is before the first message. */
export interface Position {
  epoch: string;
  offset: number;
}

/** An earlier epoch, which the present log continues. */
export interface FormerEpoch extends Position {
  /** Up to `offset`, its messages are those of the present log. `kept`: whether nothing can have been lost when it ended. */
  kept: boolean;
}

/** The position of an appended message; `duplicate` says that an earlier append with the same key has kept it. */
export type AppendResult = Position & { duplicate?: true };

/** The results of a repeated append of `count` messages, where the earlier one ended with offset `last`. */
export function earlierResults(epoch: string, last: number, count: number): AppendResult[] {
  return Array.from({ length: count }, (_, index) => ({ epoch, offset: last - count + 1 + index, duplicate: true }));
}

/** A message as it was kept. Without author and text, it is one that was erased. */
export interface StoredMessage extends Position {
  from: string;
  text: string;
  at: number;
}

export interface PageQuery {
  /** The epoch that `after` or `before` belong to. @default the epoch of the present log */
  epoch?: string;
  /** Reads forwards: messages with a higher offset, the oldest first. 0 starts at the beginning. */
  after?: number;
  /** Reads backwards: messages with a lower offset; without `after`, the newest of them. */
  before?: number;
  /** Maximum number of messages of the page, from 1 to {@link MAX_PAGE}. */
  limit: number;
}

export interface Page extends Position {
  /**
   * Oldest first, without gaps. With neither `after` nor `before` these are the newest. There may be fewer than `limit`
   * because of {@link MAX_PAGE_BYTES}: a page that is not empty and does not reach `offset`, or `before`, can be
   * continued after its last message. One that was read backwards can be continued before its first message.
   */
  messages: StoredMessage[];
  /** The epoch of the log as it is now. */
  epoch: string;
  /** The newest offset of the conversation, not of the page. */
  offset: number;
  /**
   * False when part of the asked range is gone: trimmed, or lost with an earlier epoch. The asked range is what a
   * reader would have got had nothing ever been removed: the `limit` messages next to the position asked for.
   *
   * A position that is not of this log (an unknown epoch, an offset beyond the newest) cannot be continued. The page is
   * then the one for a reader without a position: for `after` from the beginning, else the newest. If the store knows
   * that the present log continues an earlier epoch's, the position stays valid, and `complete` stays true if nothing
   * can have been lost in between: read on with the page's new epoch.
   */
  complete: boolean;
  /**
   * The earlier epochs that the present log continues, newest first, if the query names another epoch than the page. With
   * it, a reader finds out how much of what it has read is in the present log, and reads on from there.
   */
  former?: readonly FormerEpoch[];
}

/** A message in the log of changes. */
export interface Change extends StoredMessage {
  conversation: string;
  /** The position up to which the epoch's log is the same as an earlier epoch's. */
  follows?: Position;
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
}

export interface HistoryStore {
  /**
   * Keeps messages at the end of a conversation, all or none, next to each other.
   *
   * Offsets are given out atomically among all processes that share the store. It resolves once the messages are as safe
   * as the store can make them, with one result per message in their order. If `key` was used in this conversation within
   * the TTL, nothing is kept: the results are the positions up to the last message of the earlier append. The store
   * does not compare the messages; an offset below 1 says that the earlier append had fewer of them.
   *
   * @param conversation any string of 1 to {@link MAX_NAME} characters
   * @param messages at most {@link MAX_APPEND}
   * @throws HistoryError in bounded time, if the store rejects the append or cannot be reached. Nothing is kept then,
   *   unless the code is `HISTORY_UNCERTAIN`: the answer was lost, and only a repetition with the same key can tell.
   * @throws TypeError, RangeError for input that no store could keep
   */
  append(conversation: string, messages: readonly NewMessage[], options?: AppendOptions): Promise<AppendResult[]>;

  /**
   * Reads a page, in time that depends neither on the length of the conversation nor on the place of the page in it.
   * A read creates nothing.
   *
   * @throws HistoryError if the store cannot be reached
   */
  read(conversation: string, query: PageQuery): Promise<Page>;

  /** The newest position. Without messages it has offset 0 and the epoch that the first message will have. */
  head(conversation: string): Promise<Position>;

  /**
   * Erases messages. Each keeps its position, so that readers do not wait for it: it is read as a message with an empty
   * author and an empty text. Its time may be 0.
   *
   * @param epoch the epoch of the log; with another one, nothing is erased
   * @param offsets at most {@link MAX_ERASE}; those that are not kept any more are ignored
   * @returns how many messages had an author or a text
   * @throws HistoryError if the store rejects it or cannot be reached; a repetition does no harm
   */
  erase(conversation: string, epoch: string, offsets: readonly number[]): Promise<number>;

  /**
   * Removes messages older than the TTL, in each conversation from the oldest up to the first that is not. Offsets do
   * not change. The maximum count needs no trimming: an append removes what exceeds it. An empty conversation is
   * forgotten, and its epoch with it, after {@link retentionOf} its TTL without a message. One caller per store, about
   * once a minute, is enough; several do no harm.
   *
   * @param now milliseconds since 1970
   * @returns how many messages were removed
   */
  trim(now: number): Promise<number>;

  /**
   * Tails all appends to all conversations, for an archiver. The messages of one conversation come in the order of their
   * offsets; the order between conversations is not defined. Messages that are trimmed before they are read here are
   * missing. After the store was restored from a backup a message may come again, with the same conversation, epoch and
   * offset.
   *
   * @param after the cursor of the previous call; undefined to start with the oldest
   * @param limit the most changes; fewer where they are large
   * @returns the next changes; none at the end of the log
   */
  changes(after: string | undefined, limit: number): Promise<Changes>;

  /**
   * Tries whether an append to the conversation would be stored at present. Readers see nothing of it.
   *
   * @throws HistoryError as `append` would
   */
  check(conversation: string): Promise<void>;

  /** Tells what happens to the store from now on, and what has happened that is not over. */
  listen?(events: StoreEvents): void;

  /** Whether the store can be reached now. @default true */
  readonly isReady?: boolean;

  /** Where a loss is noted for all workers that share the store. @default in the memory of each worker */
  readonly lossNotices?: LossNotices;

  /** How much the store holds at present, in bytes; undefined where it cannot tell cheaply. */
  readonly bytes?: number;

  /** How many messages this process has removed because the store was too large. */
  readonly trimmedForSize?: number;

  /** Finishes the calls in progress and closes the store. Later calls are rejected. */
  close(): Promise<void>;
}

/** The longest name of a conversation, author or key, in UTF-16 code units. */
export const MAX_NAME = 1024;

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

/** How long an empty conversation keeps its epoch and its offset, in milliseconds: a week, or twice the TTL. */
export const retentionOf = (ttlMs: number): number => Math.max(2 * ttlMs, 7 * 24 * 3_600_000);
