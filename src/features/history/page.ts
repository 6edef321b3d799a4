import {
  type HistoryStore,
  MAX_PAGE_BYTES,
  type NewMessage,
  type Page,
  type PageQuery,
  type Position,
  type StoredMessage,
} from './store.js';

/** What a message takes besides its text and author: its fields' names, numbers and punctuation. */
export const OVERHEAD_BYTES = 128;

/** Roughly how many bytes messages take in memory, on disk and on the wire. */
export function bytesOf(messages: readonly Pick<NewMessage, 'from' | 'text'>[]): number {
  let bytes = 0;
  for (const { from, text } of messages) bytes += OVERHEAD_BYTES + Buffer.byteLength(from) + Buffer.byteLength(text);
  return bytes;
}

/** The part of a conversation that is kept. `offset` and `tag` are its newest position, 0 if there never was a message. */
export interface LogState extends Position {
  /** The oldest offset still kept; `offset + 1` if there is none. */
  first: number;
  /** Where the reader goes on that a query names with a tag. */
  place?: Place;
}

/** Where a reader goes on in a log. */
export interface Place {
  /** The last message that it has read. */
  offset: number;
  /** Whether the log does not have the message that the reader has read last. */
  lost: boolean;
}

/** The position that a query names, if the store has to compare it. */
export function positionIn({ after, before, tag }: PageQuery): Position | undefined {
  const offset = after ?? before;
  return tag && offset !== undefined ? { offset, tag } : undefined;
}

/**
 * Compares the position of a reader with a log in which erased messages have tags.
 * @param tagOf the tag of the message at an offset that is kept
 */
export function placeOf(log: LogState, { offset, tag }: Position, tagOf: (offset: number) => number): Place {
  if (tag > log.tag) return { offset: log.offset, lost: true };
  const isOlder = log.first <= offset && offset < log.offset;
  if ((isOlder ? tagOf(offset) : log.offset === offset ? log.tag : 0) === tag) return { offset, lost: false };
  // The last message that is not newer than the reader's.
  let shared = log.first - 1;
  for (let end = log.offset; shared < end; ) {
    const middle = Math.ceil((shared + end) / 2);
    if (tagOf(middle) <= tag) shared = middle;
    else end = middle - 1;
  }
  // What was trimmed cannot be compared.
  const mayFit = offset === 0 || (offset < log.first && offset < log.offset);
  if (mayFit && shared < log.first) return { offset, lost: false };
  return { offset: shared, lost: offset > 0 };
}

/** The offsets of a page, both ends included; empty if `from` is beyond `to`. */
interface PageRange {
  from: number;
  to: number;
  complete: boolean;
}

/** Where a reader goes on, if the store has compared it, or if it is beyond the end. */
function placeIn({ offset, place }: LogState, { after = 0 }: PageQuery): Place | undefined {
  return place ?? (after > offset ? { offset, lost: true } : undefined);
}

/** The offsets that answer a query, and whether part of the asked range is missing. */
export function planPage(log: LogState, query: PageQuery): PageRange {
  const { first, offset } = log;
  const { limit } = query;
  const place = placeIn(log, query);
  const after = query.after === undefined ? undefined : (place?.offset ?? query.after);
  const before = query.after === undefined && place?.lost ? place.offset + 1 : (query.before ?? Infinity);
  const newest = Math.min(offset, before - 1);
  const oldest = after === undefined ? Math.max(1, newest - limit + 1) : after + 1;
  const from = Math.max(oldest, first);
  return {
    from,
    to: after === undefined ? newest : Math.min(newest, from + limit - 1),
    complete: !place?.lost && (oldest > newest || oldest >= first),
  };
}

/** Whether a page begins with its oldest message, and goes on to newer ones. */
export const isForwards = ({ after }: PageQuery): boolean => after !== undefined;

/**
 * The first of some values that fit into a budget together, and at least one.
 * @param isReversed whether to begin with the last one
 */
export function fitting<Value>(
  values: readonly Value[],
  budget: number,
  costOf: (value: Value) => number,
  isReversed = false,
): Value[] {
  const ordered = isReversed ? [...values].reverse() : [...values];
  let left = budget;
  const end = ordered.findIndex((value, index) => {
    left -= costOf(value);
    return left < 0 && index > 0;
  });
  const fit = end < 0 ? ordered : ordered.slice(0, end);
  return isReversed ? fit.reverse() : fit;
}

/** The messages that fit into a page: from the first one on if it was read forwards, else up to the last one. */
function fitPage(messages: readonly StoredMessage[], query: PageQuery): StoredMessage[] {
  const bytesOfJson = ({ from, text }: StoredMessage) => OVERHEAD_BYTES + jsonBytesOf(from) + jsonBytesOf(text);
  return fitting(messages, MAX_PAGE_BYTES, bytesOfJson, !isForwards(query));
}

const jsonBytesOf = (text: string): number => Buffer.byteLength(JSON.stringify(text));

/**
 * @param found what the store found in the planned range, up to {@link MAX_PAGE_BYTES} or more
 * @param isCut whether the store stopped reading at {@link MAX_PAGE_BYTES}. Otherwise fewer messages than planned mean
 *   that some were trimmed in between.
 */
export function buildPage(log: LogState, query: PageQuery, found: StoredMessage[], isCut = false): Page {
  const messages = fitPage(found, query);
  const limit = isCut || messages.length < found.length ? Math.max(1, messages.length) : query.limit;
  const { from, to, complete } = planPage(log, { ...query, limit });
  const isWhole = messages.length === Math.max(0, to - from + 1) && (messages[0]?.offset ?? from) === from;
  const { offset, tag } = log;
  const after = (messages[0]?.offset ?? from) - 1;
  return {
    messages,
    after,
    offset,
    tag,
    complete: complete && isWhole,
    ...(placeIn(log, query)?.lost && { lost: true }),
  };
}

/** A page of the archive; `isCut` says that it ends early because of {@link MAX_PAGE_BYTES}. */
export interface ArchivePage {
  messages: StoredMessage[];
  isCut: boolean;
}

/** The part of an archive that readers use. */
export interface ArchiveReader {
  /** @param query its tag is that of a message of the log that is read, or of a later one */
  read(conversation: string, query: PageQuery): Promise<ArchivePage>;
}

/**
 * Reads a page from the history, and from the archive what the store no longer has. The page keeps the store's
 * contract, as if nothing had ever been trimmed.
 *
 * @throws HistoryError if the store, or the archive where it is needed, cannot be reached
 */
export async function readThrough(
  store: HistoryStore,
  archive: ArchiveReader | undefined,
  conversation: string,
  query: PageQuery,
): Promise<Page> {
  const page = await store.read(conversation, query);
  const { offset } = page;
  if (page.complete || page.lost || !archive) return page;

  const { after, before = offset + 1, limit } = query;
  const oldest = page.messages[0]?.offset ?? Math.min(before, offset + 1);
  const { tag } = page.messages[0] ?? page;
  const found: StoredMessage[] = [];
  let isCut: boolean;
  if (after !== undefined) {
    const older = await archive.read(conversation, { tag, after, before: oldest, limit });
    found.push(...older.messages);
    if (!older.isCut) found.push(...page.messages.slice(0, limit - older.messages.length));
    // A page of the store that ends early was cut as well.
    const last = page.messages.at(-1);
    isCut = older.isCut || (last !== undefined && last.offset < Math.min(before - 1, offset));
  } else {
    const missing = Math.max(1, limit - page.messages.length);
    const older = await archive.read(conversation, { tag, before: oldest, limit: missing });
    found.push(...older.messages, ...page.messages);
    isCut = older.isCut;
  }
  const messages = fitPage(found, query);
  isCut ||= messages.length < found.length;
  // Compared with the page that there would be if nothing had ever been trimmed.
  const all = { offset, tag: page.tag, first: 1 };
  const asked = planPage(all, { ...query, limit: isCut ? messages.length : limit });
  const complete =
    messages.length === Math.max(0, asked.to - asked.from + 1) &&
    messages.every((message, index) => message.offset === asked.from + index);
  return { ...page, messages, after: messages[0] ? messages[0].offset - 1 : page.after, complete };
}
