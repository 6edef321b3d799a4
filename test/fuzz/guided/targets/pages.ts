import { MalformedMessage } from '../../../../src/base/errors.js';
import { checkReadable, eventOf, textOfEvent } from '../../../../src/features/history/durable/requests.js';
import {
  buildPage,
  bytesOf,
  isForwards,
  type LogState,
  type Place,
  placeOf,
  planPage,
  positionIn,
  readThrough,
} from '../../../../src/features/history/page.js';
import { withErased } from '../../../../src/features/history/redis/range.js';
import {
  type HistoryStore,
  MAX_PAGE_BYTES,
  type Page,
  type PageQuery,
  type Position,
  type StoredMessage,
} from '../../../../src/features/history/store.js';
import type { Target } from '../guide.js';
import { expectSame, orRejected } from './same.js';

const NONE = 255;
/** The text of a long message: a page has room for some of them. */
const LONG = 'x'.repeat(100_000);
const tagOf = (offset: number): number => 10 * offset;

/** A log and a query, from the first bytes of an input; the others say which messages are long. */
function readingOf([
  offset = 0,
  gone = 0,
  after = NONE,
  before = NONE,
  limit = 0,
  kind = 0,
  number = 0,
  ...long
]: Buffer) {
  const newest = offset % 40;
  const log: LogState = { offset: newest, tag: tagOf(newest), first: 1 + (gone % (newest + 1)) };
  const query: PageQuery = { limit: 1 + (limit % 30) };
  if (after !== NONE) query.after = after % 45;
  if (before !== NONE) query.before = before % 45;
  // None, the right one, that of another message, and one of a message that is lost.
  const tags = [0, tagOf(query.after ?? query.before ?? 0), tagOf(number % 45), tagOf(number % 45) + 5];
  query.tag = tags[kind % tags.length]!;
  const at = positionIn(query);
  if (at) {
    log.place = placeOf(log, at, tagOf);
    expectSame(log.place, idealPlaceOf(log, at));
  }
  const message = (offset: number): StoredMessage => {
    const text = long[offset % long.length] === 1 ? LONG : 'short';
    return { from: 'a', text, at: offset, offset, tag: tagOf(offset) };
  };
  return { log, query, message };
}

const range = (from: number, to: number) => Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);

/** The same as `placeOf`, without haste. */
function idealPlaceOf(log: LogState, { offset, tag }: Position): Place {
  if (tag > log.tag) return { offset: log.offset, lost: true };
  const kept = range(log.first, log.offset);
  const all = log.first > log.offset ? [log.offset] : kept;
  if (all.some((one) => one === offset && tagOf(one) === tag)) return { offset, lost: false };
  const older = kept.filter((one) => tagOf(one) <= tag);
  const isTrimmed = offset < Math.min(log.first, log.offset);
  if (older.length === 0 && (isTrimmed || offset === 0)) return { offset, lost: false };
  return { offset: older.at(-1) ?? log.first - 1, lost: offset > 0 };
}

/** A reader without a tag is compared by its offset alone. */
function placeIn({ offset, place }: LogState, { after = 0 }: PageQuery): Place | undefined {
  return after > offset && !place ? { offset, lost: true } : place;
}

/** The offsets that there would be on a page if nothing had ever been removed. */
function idealOf(log: LogState, query: PageQuery) {
  const { offset: newest } = log;
  const { after, before, limit } = query;
  const place = placeIn(log, query);
  const from = after === undefined ? 0 : (place?.offset ?? after);
  const end = after === undefined && place?.lost ? place.offset + 1 : (before ?? Number.POSITIVE_INFINITY);
  const asked = range(1, newest).filter((offset) => offset > from && offset < end);
  return { ideal: after === undefined ? asked.slice(-limit) : asked.slice(0, limit), asked };
}

function check(page: Page, log: LogState, query: PageQuery, hasAll: boolean): void {
  const { ideal, asked } = idealOf(log, query);
  const isLost = placeIn(log, query)?.lost === true;
  expectSame([page.lost === true, page.offset, page.tag], [isLost, log.offset, log.tag]);
  const offsets = page.messages.map(({ offset }) => offset);
  expectSame(offsets, range(page.after + 1, page.after + offsets.length));
  const there = asked.filter((offset) => hasAll || offset >= log.first);
  const isEarly = bytesOf(page.messages) > MAX_PAGE_BYTES - 2 * LONG.length;
  const possible = isForwards(query) ? there.slice(0, query.limit) : there.filter((offset) => ideal.includes(offset));
  if (!isEarly) expectSame(offsets, possible);
  else if (offsets.length > possible.length || !offsets.every((offset) => possible.includes(offset)))
    throw new Error(`${offsets} are not of ${possible}`);
  else if (possible.length > 0 && offsets.length === 0) throw new Error('a page has no message');
  if (!isEarly) expectSame(page.complete, !isLost && ideal.every((offset) => there.includes(offset)));
}

const pages: Target = {
  seeds: [
    Buffer.from([12, 0, NONE, NONE, 4]),
    Buffer.from([30, 5, 2, NONE, 20]),
    Buffer.from([30, 5, 7, 20, 29, 1]),
    Buffer.from([30, 5, NONE, 20, 29, 2, 25]),
    Buffer.from([30, 0, 3, NONE, 29, 3, 25]),
    Buffer.from([30, 0, 35, NONE, 29, 3, 25]),
    Buffer.from([30, 0, NONE, 35, 29, 3, 25]),
    Buffer.from([30, 10, 2, NONE, 29, 3, 4]),
    Buffer.from([39, 0, 0, NONE, 29, 0, 0, 1]),
    Buffer.from([39, 3, NONE, NONE, 29, 0, 0, 1, 0]),
    Buffer.from([0, 0, 5, NONE, 5, 1]),
    Buffer.from([39, 30, 5, NONE, 29, 0, 0, 1]),
  ],
  async run(input) {
    const { log, query, message } = readingOf(input);
    const { from, to } = planPage(log, query);
    const page = buildPage(log, query, range(from, to).map(message));
    check(page, log, query, false);
    const store = { read: async () => page } as unknown as HistoryStore;
    expectSame((await readThrough(store, undefined, 'a', query)) === page, true);
    // An archive has all that the store has removed.
    const whole: LogState = { offset: log.offset, tag: log.tag, first: 1 };
    const archive = {
      read: async (_: string, asked: PageQuery) => {
        const plan = planPage(whole, asked);
        const read = buildPage(whole, asked, range(plan.from, plan.to).map(message));
        return { ...read, isCut: read.messages.length < plan.to - plan.from + 1 };
      },
    };
    if (!page.lost && (query.before ?? 0) <= log.offset + 1)
      check(await readThrough(store, archive, 'a', query), log, query, true);
    const found = range(from, to)
      .filter((offset) => ((input[offset % input.length] ?? 0) & 4) === 0)
      .map(message);
    const filled = withErased(found, from, to);
    expectSame(
      filled.map(({ offset }) => offset),
      range(from, to),
    );
    expectSame(
      filled.filter(({ from: author }) => author !== ''),
      found,
    );
  },
};

/** What a durable room keeps of an event. */
const events: Target = {
  seeds: [
    textOfEvent({ event: 'a', values: [1, 'b', null], except: [] }),
    textOfEvent({ event: 'a', values: [Buffer.of(1, 2), { deep: Buffer.of(3) }], except: ['room'] }),
    textOfEvent({ event: 'a', values: [{ _placeholder: true, num: 0 }], except: [] }),
    ...['', '{}', '{"p":"2[1]"}', '{"p":1}', '{"p":"51-[\\"a\\"]"}', 'null', '{"p":"2[\\"a\\"]","b":[1]}'],
  ],
  run(input) {
    const text = input.toString();
    expectSame(eventOf({ from: '', text }), undefined);
    const event = orRejected(
      () => eventOf({ from: 'event', text }),
      (error) => error instanceof MalformedMessage,
    );
    if (!event) return;
    const again = textOfEvent(event);
    const isReadable = orRejected(
      () => {
        checkReadable(again);
        return true;
      },
      (error) => (error as { code?: string }).code === 'BAD_INPUT',
    );
    if (isReadable) expectSame(eventOf({ from: 'event', text: again }), event);
  },
};

export const pageTargets = { pages, events };
