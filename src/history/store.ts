/**
 * The fast store of chat history: what an implementation must do, and must not.
 *
 * A conversation is a log: every message in it has an offset, counted from 1 without gaps, given out by the store
 * itself, so that it is one sequence over all workers and machines that share the store. The epoch names the log. Two
 * positions can be compared only if their epochs are the same; a new epoch says that the log was lost, in whole or in
 * part, or that the store cannot rule that out.
 */

/** A message as it is handed in. Text is kept as well-formed Unicode: a lone surrogate comes back as U+FFFD. */
export interface NewMessage {
  from: string;
  text: string;
  /** When it was said, in milliseconds since 1970. Its age is counted from here. */
  at: number;
}

export interface AppendOptions {
  /**
   * Idempotency key of the append, unique within the conversation. The store remembers it for its TTL. A caller that
   * does not know whether an append arrived repeats it with the same key.
   */
  key?: string;
  /** Whatever tells clients apart: while the store is busy they take turns. */
  client?: unknown;
}

/** Where a message stands. Offset 0 stands before the first message. */
export interface Position {
  epoch: string;
  offset: number;
}

/** The position of an appended message; `duplicate` says that an earlier append with the same key has kept it. */
export type AppendResult = Position & { duplicate?: true };

/** The results of a repeated append of `count` messages, where the earlier one ended with offset `last`. */
export function earlierResults(epoch: string, last: number, count: number): AppendResult[] {
  return Array.from({ length: count }, (_, index) => ({ epoch, offset: last - count + 1 + index, duplicate: true }));
}

/** A message as it was kept. */
export interface StoredMessage extends Position {
  from: string;
  text: string;
  at: number;
}

export interface PageQuery {
  /** The epoch that `after` or `before` belong to. Left out: they are taken as positions in the present log. */
  epoch?: string;
  /** Messages with a higher offset, the oldest of them first: forwards. 0 is from the beginning. */
  after?: number;
  /** Messages with a lower offset; without `after` the newest of them: backwards. */
  before?: number;
  /** At most so many messages; at least 1, at most {@link MAX_PAGE}. */
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
   * A position that is not of this log (an epoch nobody remembers, an offset beyond the newest) cannot be continued
   * from. The page is then the one that a reader gets who knows nothing: for `after` from the beginning, else the
   * newest. Where the store knows that an earlier epoch's log has gone over into the present one, the position stays
   * good, and `complete` stays true if nothing can have been lost in between: read on with the page's new epoch.
   */
  complete: boolean;
}

/** A message as the log of changes tells it. */
export interface Change extends StoredMessage {
  conversation: string;
  /** Where the epoch's log has gone on from an earlier epoch's: up to this position the two are one. */
  follows?: Position;
}

export interface Changes {
  changes: Change[];
  /** Pass it to the next call. It stays good over restarts. */
  cursor: string;
}

/** The most messages of one append, and of one page. */
export const MAX_APPEND = 1000;
export const MAX_PAGE = 1000;
/**
 * The most bytes of one page, as JSON. A page that would be larger ends early, as if a smaller `limit` had been asked
 * for, but it has at least one message.
 */
export const MAX_PAGE_BYTES = 1 << 20;

export interface HistoryStore {
  /**
   * Keeps messages at the end of a conversation, all or none, next to each other.
   *
   * Offsets are given out atomically over all who share the store. It resolves only once the messages are kept as well
   * as the store keeps anything, one result per message in their order. If `key` was used in this conversation within
   * the TTL, nothing is kept: the results are the positions up to the last message of the earlier append. The store
   * does not compare the messages; an offset below 1 says that the earlier append had fewer of them.
   *
   * @param conversation any string of 1 to {@link MAX_NAME} characters
   * @param messages at most {@link MAX_APPEND}
   * @throws HistoryError if the store refuses or cannot be reached, in bounded time. Nothing is kept then, unless the
   *   code is `HISTORY_UNCERTAIN`: the answer was lost, and only a repetition with the same key can tell.
   * @throws TypeError, RangeError for input that no store could keep
   */
  append(conversation: string, messages: readonly NewMessage[], options?: AppendOptions): Promise<AppendResult[]>;

  /**
   * Reads a page, in time that does not depend on how long the conversation is or where in it the page lies.
   *
   * @throws HistoryError if the store cannot be reached
   */
  read(conversation: string, query: PageQuery): Promise<Page>;

  /** The newest position. A conversation without messages has offset 0, and an epoch that its first message will have. */
  head(conversation: string): Promise<Position>;

  /**
   * Removes, from each conversation's oldest message on, what is older than the TTL, up to the first message that is
   * not. Offsets stay as they are. The maximum count needs no trimming: an append removes what goes beyond it. An
   * empty conversation is forgotten, and its epoch with it, when nothing was said in it for {@link retentionOf} its TTL.
   * One caller per store suffices, once a minute or so; several do no harm.
   *
   * @param now milliseconds since 1970
   * @returns how many messages were removed
   */
  trim(now: number): Promise<number>;

  /**
   * Tails everything that is appended to any conversation: an archiver's source. A conversation's messages come in the
   * order of their offsets; between conversations no order is promised. What is trimmed before it is read here is not
   * in it. A message can come again after a store was restored from a backup: its conversation, epoch and offset are
   * the same then.
   *
   * @param after the cursor of the call before; undefined from the oldest on
   * @param limit at most so many changes; fewer where they are large
   * @returns what followed; nothing when the tail is reached
   */
  changes(after: string | undefined, limit: number): Promise<Changes>;

  /** How much the store holds at present, in bytes; undefined where it cannot tell cheaply. */
  readonly bytes?: number;

  /** How many messages this process has removed because the store was too large. */
  readonly trimmedForSize?: number;

  /** Finishes what was begun and lets go of the store. Whatever is asked afterwards is rejected. */
  close(): Promise<void>;
}

/** The longest name of a conversation, author or key, in UTF-16 code units. */
export const MAX_NAME = 1024;

/** What both stores can be told. */
export interface HistoryLimits {
  /** How long a message is kept, in milliseconds. Default 24 hours. */
  ttlMs?: number;
  /** How many messages of a conversation are kept. Default 100,000. */
  maxMessages?: number;
}

export const DEFAULT_TTL_MS = 24 * 3_600_000;
export const DEFAULT_MAX_MESSAGES = 100_000;

/** How long an empty conversation keeps its epoch and its count, in milliseconds: a week, or twice the TTL. */
export const retentionOf = (ttlMs: number): number => Math.max(2 * ttlMs, 7 * 24 * 3_600_000);
