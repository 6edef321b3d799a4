import {
  type FormerEpoch,
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

/** The part of a conversation that is kept. */
export interface LogState {
  epoch: string;
  /** The newest offset, 0 if there never was a message. */
  offset: number;
  /** The oldest offset still kept; `offset + 1` if there is none. */
  first: number;
  /** Newest first. */
  former: readonly FormerEpoch[];
}

/** The offsets of a page, both ends included; empty if `from` is beyond `to`. */
interface PageRange {
  from: number;
  to: number;
  complete: boolean;
}

/** The offsets that answer a query, and whether part of the asked range is missing. */
export function planPage(log: LogState, query: PageQuery): PageRange {
  const standing = standingOf(log, query);
  const after = standing.known ? query.after : query.after === undefined ? undefined : 0;
  const before = standing.known ? query.before : undefined;
  const newest = Math.min(log.offset, (before ?? Infinity) - 1);
  const oldest = after === undefined ? Math.max(1, newest - query.limit + 1) : after + 1;
  const from = Math.max(oldest, log.first);
  return {
    from,
    to: after === undefined ? newest : Math.min(newest, from + query.limit - 1),
    complete: standing.kept && (oldest > newest || oldest >= log.first),
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
  const isForeign = query.epoch !== undefined && query.epoch !== log.epoch;
  const former = isForeign && { former: log.former };
  return { messages, epoch: log.epoch, offset: log.offset, complete: complete && isWhole, ...former };
}

function standingOf(log: LogState, { epoch, after, before }: PageQuery): { known: boolean; kept: boolean } {
  if (epoch === undefined) return { known: true, kept: true };
  const furthest = Math.max(after ?? 0, (before ?? 1) - 1);
  if (epoch === log.epoch) {
    const known = furthest <= log.offset;
    return { known, kept: known };
  }
  let kept = true;
  for (const former of log.former) {
    kept &&= former.kept;
    if (former.epoch === epoch && furthest <= former.offset) return { known: true, kept };
  }
  return { known: false, kept: false };
}

/** A page of the archive; `isCut` says that it ends early because of {@link MAX_PAGE_BYTES}. */
export interface ArchivePage extends Position {
  messages: StoredMessage[];
  isCut: boolean;
}

/** The part of an archive that readers use. */
export interface ArchiveReader {
  read(conversation: string, query: PageQuery): Promise<ArchivePage>;
}

/**
 * Reads a page from the history, and from the archive what the store no longer has. The page keeps the store's
 * contract, as if nothing had ever been trimmed. A position in a lost epoch still starts from the beginning.
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
  const { epoch, offset } = page;
  const foreign = query.epoch !== undefined && (query.epoch !== epoch || (query.after ?? 0) > offset);
  if (page.complete || !archive || foreign) return page;

  const { after, before = offset + 1, limit } = query;
  const oldest = page.messages[0]?.offset ?? Math.min(before, offset + 1);
  const found: StoredMessage[] = [];
  let isCut: boolean;
  if (after !== undefined) {
    const older = await archive.read(conversation, { epoch, after, before: oldest, limit });
    found.push(...older.messages);
    if (!older.isCut) found.push(...page.messages.slice(0, limit - older.messages.length));
    // A page of the store that ends early was cut as well.
    const last = page.messages.at(-1);
    isCut = older.isCut || (last !== undefined && last.offset < Math.min(before - 1, offset));
  } else {
    const missing = Math.max(1, limit - page.messages.length);
    const older = await archive.read(conversation, { epoch, before: oldest, limit: missing });
    found.push(...older.messages, ...page.messages);
    isCut = older.isCut;
  }
  const messages = fitPage(found, query);
  isCut ||= messages.length < found.length;
  // Compared with the page that there would be if nothing had ever been trimmed.
  const asked = planPage({ epoch, offset, first: 1, former: [] }, { ...query, limit: isCut ? messages.length : limit });
  const complete =
    messages.length === Math.max(0, asked.to - asked.from + 1) &&
    messages.every((message, index) => message.offset === asked.from + index);
  return { ...page, messages, complete };
}
