import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { HistoryLimits, HistoryStore, NewMessage, Position } from '../../src/history/store.js';
import { type Acknowledged, appendInProcess } from './support/process.js';

/** What the suite needs of an implementation. */
export interface Harness {
  /** Opens another store on the same data, as another worker would. */
  open(limits?: HistoryLimits): Promise<HistoryStore>;
  /** What test/history/support/appender.ts opens it with. */
  readonly options: object;
  /** Everything that was kept is gone. Stores that were opened before are not used any more. */
  lose(): Promise<void>;
  /** From now on the store has no room for anything. */
  refuse(): Promise<void>;
  /** And from now on it has again. */
  accept(): Promise<void>;
  remove(): Promise<void>;
}

export const HOUR = 3_600_000;

export const say = (text: string, at = Date.now(), key?: string): NewMessage => ({ from: 'alice', text, at, key });
export const texts = (messages: readonly { text: string }[]): string[] => messages.map(({ text }) => text);
const offsets = (positions: readonly Position[]): number[] => positions.map(({ offset }) => offset);
const count = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** Reads forwards to the end, as a client that comes back does. */
export async function readAll(store: HistoryStore, conversation: string) {
  const all = [];
  for (let after = 0; ; ) {
    const page = await store.read(conversation, { after, limit: 1000 });
    all.push(...page.messages);
    if (page.messages.length === 0) return all;
    after = page.messages.at(-1)!.offset;
  }
}

export async function changesFrom(store: HistoryStore, cursor: string | undefined, limit: number) {
  const all = [];
  for (;;) {
    const page = await store.changes(cursor, limit);
    if (page.changes.length === 0) return { changes: all, cursor: page.cursor };
    expect(page.changes.length).toBeLessThanOrEqual(limit);
    all.push(...page.changes);
    cursor = page.cursor;
  }
}

let rooms = 0;

/** The suite that every implementation of {@link HistoryStore} passes. */
export function storeContract(start: () => Promise<Harness>): void {
  let harness: Harness;
  let room: string;
  const opened: HistoryStore[] = [];
  const open = async (limits?: HistoryLimits) => {
    const store = await harness.open(limits);
    opened.push(store);
    return store;
  };
  let store: HistoryStore;

  beforeAll(async () => {
    harness = await start();
    store = await open();
  });
  beforeEach(() => {
    room = `room ${++rooms}`;
  });
  afterAll(async () => {
    await Promise.all(opened.map((one) => one.close()));
    await harness.remove();
  });

  describe('append', () => {
    test('counts from 1, in the order of the messages, in one epoch', async () => {
      const first = await store.append(room, [say('a'), say('b')]);
      const second = await store.append(room, [say('c')]);
      expect(offsets([...first, ...second])).toEqual([1, 2, 3]);
      expect(new Set([...first, ...second].map(({ epoch }) => epoch)).size).toBe(1);
      expect(await store.append(room, [])).toEqual([]);
    });

    test('counts each conversation by itself', async () => {
      const appends = count(1, 20).map((n) => store.append(`${room}/${n % 4}`, [say(`${n}`)]));
      const positions = (await Promise.all(appends)).flat();
      expect(offsets(positions)).toEqual(count(1, 20).map((n) => Math.ceil(n / 4)));
      expect(new Set(positions.map(({ epoch }) => epoch)).size).toBe(4);
    });

    test('keeps the messages of one append together, whoever else appends', async () => {
      const others = [store, await open(), await open()];
      const appends = count(0, 59).map((n) =>
        others[n % 3]!.append(
          room,
          count(0, 9).map((m) => say(`${n}.${m}`)),
        ),
      );
      const positions = await Promise.all(appends);
      const all = await readAll(store, room);
      expect(offsets(all)).toEqual(count(1, 600));
      for (const [n, own] of positions.entries()) {
        expect(offsets(own)).toEqual(count(own[0]!.offset, own[0]!.offset + 9));
        expect(texts(all.slice(own[0]!.offset - 1, own[9]!.offset))).toEqual(count(0, 9).map((m) => `${n}.${m}`));
      }
    });

    test('leaves no gap and gives no offset twice over several processes', async () => {
      const authors = ['a', 'b', 'c', 'd'];
      const acknowledged = await Promise.all(authors.map((name) => appendInProcess(harness.options, room, name, 300)));
      const all = await readAll(store, room);
      expect(offsets(all)).toEqual(count(1, 1200));
      expectKept(all, acknowledged.flat());
    });

    test('has kept what it acknowledged when processes are killed in the middle', async () => {
      const killed = ['a', 'b', 'c'].map((name) =>
        appendInProcess(harness.options, room, name, 1_000_000, (lines) => lines.length >= 200),
      );
      const survivor = appendInProcess(harness.options, room, 'd', 500);
      const acknowledged = (await Promise.all([...killed, survivor])).flat();
      expect(acknowledged.length).toBeGreaterThanOrEqual(1100);
      const [next] = await store.append(room, [say('after')]);
      const all = await readAll(store, room);
      expect(offsets(all)).toEqual(count(1, next!.offset));
      expectKept(all, acknowledged);
    });

    test.each(['', 'a\0b', '\0', 'naïve 😀 日本', `it's "quoted" \\ \n`, '{"json":[1]}', 'x'.repeat(100_000)])(
      'keeps any text as it is: %j',
      async (text) => {
        const at = Date.now();
        const name = `${room} ${text.slice(0, 20)}}{`;
        await store.append(name, [{ from: text.slice(0, 20), text, at, key: `${text.slice(0, 9)}:` }]);
        const { messages, epoch } = await store.read(name, { after: 0, limit: 10 });
        expect(messages).toEqual([{ from: text.slice(0, 20), text, at, epoch, offset: 1 }]);
      },
    );

    test('takes names that mean something elsewhere', async () => {
      for (const name of ['__proto__', 'constructor', `${room}\0`, `${room}\0x`, `${room}:1`, ' ']) {
        expect(offsets(await store.append(name, [say('x', Date.now(), 'k')]))).toEqual([1]);
      }
    });

    test('refuses what cannot be kept', async () => {
      await expect(store.append('', [say('x')])).rejects.toThrow(RangeError);
      await expect(store.append(room, [say('x', Number.NaN)])).rejects.toThrow(RangeError);
      await expect(store.append(room, [say('x', 1.5)])).rejects.toThrow(RangeError);
      await expect(store.append(room, [{ ...say('x'), text: 7 as unknown as string }])).rejects.toThrow(TypeError);
      await expect(store.append(room, Array(1001).fill(say('x')))).rejects.toThrow(RangeError);
      await expect(store.read(room, { limit: 0 })).rejects.toThrow(RangeError);
      await expect(store.read(room, { limit: 1001 })).rejects.toThrow(RangeError);
      await expect(store.read(room, { after: -1, limit: 1 })).rejects.toThrow(RangeError);
      expect((await store.head(room)).offset).toBe(0);
    });

    test('rejects when there is no room, keeps nothing then, and goes on without a gap afterwards', async () => {
      await store.append(room, [say('before')]);
      await harness.refuse();
      const refused = { name: 'HistoryError', code: 'HISTORY_REFUSED' };
      const big = say('x'.repeat(20_000));
      await expect(store.append(room, Array(200).fill(big))).rejects.toMatchObject(refused);
      await expect(store.append(`${room} 2`, Array(200).fill(big))).rejects.toMatchObject(refused);
      expect(texts((await store.read(room, { limit: 5 })).messages)).toEqual(['before']);
      await harness.accept();
      expect(offsets(await store.append(room, [say('after')]))).toEqual([2]);
      expect(offsets(await store.append(`${room} 2`, [say('after')]))).toEqual([1]);
    });
  });

  describe('an idempotency key', () => {
    test('leads to the earlier position, over all stores', async () => {
      const [first] = await store.append(room, [say('once', Date.now(), 'key')]);
      const other = await open();
      expect(await other.append(room, [say('again', Date.now(), 'key')])).toEqual([{ ...first!, duplicate: true }]);
      expect(texts(await readAll(store, room))).toEqual(['once']);
    });

    test('counts within one append and among appends at the same time', async () => {
      const twice = [say('a', Date.now(), '1'), say('b'), say('a', Date.now(), '1')];
      const results = await Promise.all([store.append(room, twice), store.append(room, twice)]);
      expect(offsets(results.flat())).toEqual([1, 2, 1, 1, 3, 1]);
      expect(results.flat().map(({ duplicate }) => duplicate ?? false)).toEqual([
        false,
        false,
        true,
        true,
        false,
        true,
      ]);
      expect(texts(await readAll(store, room))).toEqual(['a', 'b', 'b']);
    });

    test('is the conversation’s own', async () => {
      await store.append(room, [say('a', Date.now(), 'k')]);
      const [other] = await store.append(`${room}:k`, [say('b', Date.now(), 'k')]);
      expect(other).not.toHaveProperty('duplicate');
    });
  });

  describe('read', () => {
    test('pages forwards', async () => {
      await store.append(
        room,
        count(1, 25).map((n) => say(`${n}`)),
      );
      const pages: number[][] = [];
      for (let after = 0; after < 25; after = pages.at(-1)!.at(-1)!) {
        const page = await store.read(room, { after, limit: 10 });
        expect(page).toMatchObject({ offset: 25, complete: true });
        pages.push(offsets(page.messages));
      }
      expect(pages).toEqual([count(1, 10), count(11, 20), count(21, 25)]);
      expect(await store.read(room, { after: 25, limit: 10 })).toMatchObject({ messages: [], complete: true });
    });

    test('pages backwards', async () => {
      await store.append(
        room,
        count(1, 25).map((n) => say(`${n}`)),
      );
      const newest = await store.read(room, { limit: 10 });
      expect(offsets(newest.messages)).toEqual(count(16, 25));
      expect(offsets((await store.read(room, { before: 16, limit: 10 })).messages)).toEqual(count(6, 15));
      const oldest = await store.read(room, { before: 6, limit: 10 });
      expect(offsets(oldest.messages)).toEqual(count(1, 5));
      expect(oldest.complete).toBe(true);
      expect(await store.read(room, { before: 1, limit: 10 })).toMatchObject({ messages: [], complete: true });
    });

    test('reads between two offsets', async () => {
      await store.append(
        room,
        count(1, 25).map((n) => say(`${n}`)),
      );
      expect(offsets((await store.read(room, { after: 5, before: 9, limit: 10 })).messages)).toEqual([6, 7, 8]);
      expect(offsets((await store.read(room, { after: 5, before: 20, limit: 2 })).messages)).toEqual([6, 7]);
      expect((await store.read(room, { after: 9, before: 5, limit: 2 })).messages).toEqual([]);
    });

    test('gives an empty conversation an epoch that stays', async () => {
      const head = await store.head(room);
      expect(head).toEqual({ epoch: expect.stringMatching(/./), offset: 0 });
      const other = await open();
      expect(await other.head(room)).toEqual(head);
      expect(await other.read(room, { after: 0, limit: 1 })).toEqual({ ...head, messages: [], complete: true });
      expect(await other.append(room, [say('x')])).toEqual([{ epoch: head.epoch, offset: 1 }]);
      expect(await store.head(room)).toEqual({ epoch: head.epoch, offset: 1 });
    });

    test('says so when a position is not of this log', async () => {
      const [{ epoch }] = (await store.append(
        room,
        count(1, 5).map((n) => say(`${n}`)),
      )) as [Position];
      const read = (query: object) => store.read(room, { limit: 2, ...query });
      expect(await read({ epoch, after: 5 })).toMatchObject({ messages: [], complete: true });
      for (const strange of [
        { epoch: 'other', after: 3 },
        { epoch: 'other', after: 0 },
        { epoch, after: 6 },
      ]) {
        const page = await read(strange);
        expect(page).toMatchObject({ epoch, offset: 5, complete: false });
        expect(offsets(page.messages)).toEqual([1, 2]);
      }
      const back = await read({ epoch: 'other', before: 3 });
      expect(back.complete).toBe(false);
      expect(offsets(back.messages)).toEqual([4, 5]);
    });
  });

  describe('trimming', () => {
    const now = Date.now();

    test('removes what is too old, leaves offsets as they are, and tells who asks for it', async () => {
      const short = await open({ ttlMs: HOUR });
      const { epoch } = (await short.append(room, [say('1', now - 3 * HOUR), say('2', now - 2 * HOUR)]))[0]!;
      await short.append(room, [say('3', now), say('4', now - 2 * HOUR), say('5', now)]);
      expect(await short.trim(now)).toBe(2);
      expect(await short.trim(now)).toBe(0);
      const page = await short.read(room, { after: 0, limit: 10 });
      expect(page).toMatchObject({ epoch, offset: 5, complete: false });
      // The fourth is older than its TTL, but not at the beginning.
      expect(offsets(page.messages)).toEqual([3, 4, 5]);
      expect((await short.read(room, { epoch, after: 1, limit: 10 })).complete).toBe(false);
      expect((await short.read(room, { epoch, after: 2, limit: 10 })).complete).toBe(true);
      expect(await short.read(room, { before: 3, limit: 10 })).toMatchObject({ messages: [], complete: false });
      expect((await short.read(room, { limit: 3 })).complete).toBe(true);
      expect((await short.read(room, { limit: 4 })).complete).toBe(false);
      expect(await short.append(room, [say('6')])).toEqual([{ epoch, offset: 6 }]);
    });

    test('counts on where everything is gone', async () => {
      const short = await open({ ttlMs: HOUR });
      const old = count(1, 1300).map((n) => say(`${n}`, now - 2 * HOUR));
      await short.append(room, old.slice(0, 900));
      const { epoch } = (await short.append(room, old.slice(900)))[0]!;
      expect(await short.trim(now)).toBe(1300);
      expect(await short.head(room)).toEqual({ epoch, offset: 1300 });
      expect(await short.read(room, { epoch, after: 1299, limit: 1 })).toMatchObject({ messages: [], complete: false });
      expect(await short.read(room, { epoch, after: 1300, limit: 1 })).toMatchObject({ messages: [], complete: true });
      expect(offsets(await short.append(room, [say('x', now)]))).toEqual([1301]);
      expect(await short.trim(now + HOUR + 1)).toBeGreaterThanOrEqual(1);
      expect((await short.read(room, { limit: 1 })).messages).toEqual([]);
    });

    test('goes by the oldest message that is left, though clocks differ', async () => {
      const small = await open({ ttlMs: HOUR, maxMessages: 2 });
      await small.append(room, [say('ahead', now + 2 * HOUR), say('behind', now - 2 * HOUR)]);
      await small.append(room, [say('new', now)]);
      await small.trim(now);
      expect(texts((await small.read(room, { limit: 5 })).messages)).toEqual(['new']);
    });

    test('keeps no more than the maximum', async () => {
      const small = await open({ maxMessages: 10 });
      await small.append(
        room,
        count(1, 9).map((n) => say(`${n}`)),
      );
      expect((await small.read(room, { after: 0, limit: 20 })).complete).toBe(true);
      await small.append(
        room,
        count(10, 27).map((n) => say(`${n}`)),
      );
      const page = await small.read(room, { after: 0, limit: 20 });
      expect(page).toMatchObject({ offset: 27, complete: false });
      expect(offsets(page.messages)).toEqual(count(18, 27));
    });
  });

  describe('changes', () => {
    test('tells everything once, each conversation in its order, to whoever has the cursor', async () => {
      const other = await open();
      const start = await changesFrom(store, undefined, 1000);
      const appends = count(0, 99).map((n) =>
        store.append(
          `${room}/${n % 7}`,
          count(0, n % 5).map((m) => say(`${n}.${m}`)),
        ),
      );
      await Promise.all(appends);
      const all = await changesFrom(other, start.cursor, 13);
      for (const name of count(0, 6).map((n) => `${room}/${n}`)) {
        const own = all.changes.filter(({ conversation }) => conversation === name);
        expect(own.map(({ conversation: _, ...message }) => message)).toEqual(await readAll(store, name));
      }
      expect(all.changes.length).toBe(300);
      expect((await store.changes(all.cursor, 10)).changes).toEqual([]);
      await store.append(room, [say('more')]);
      expect(texts((await other.changes(all.cursor, 10)).changes)).toEqual(['more']);
    });

    test('leaves out duplicates and what is trimmed', async () => {
      const short = await open({ ttlMs: HOUR });
      const { cursor } = await changesFrom(short, undefined, 1000);
      await short.append(room, [say('old', Date.now() - 2 * HOUR), say('new', Date.now(), 'k')]);
      await short.append(room, [say('new', Date.now(), 'k')]);
      await short.trim(Date.now());
      expect(texts((await changesFrom(short, cursor, 10)).changes)).toEqual(['new']);
    });
  });

  // These come last: they leave nothing behind.
  describe('in the end', () => {
    test('a lost log begins a new epoch, and says that it cannot be continued', async () => {
      const { epoch } = (await store.append(room, [say('1'), say('2')]))[0]!;
      const { cursor } = await changesFrom(store, undefined, 1000);
      await harness.lose();
      const again = await open();
      const head = await again.head(room);
      expect(head.offset).toBe(0);
      expect(head.epoch).not.toBe(epoch);
      expect(await again.read(room, { epoch, after: 2, limit: 5 })).toMatchObject({ messages: [], complete: false });
      expect(await again.append(room, [say('new')])).toEqual([{ epoch: head.epoch, offset: 1 }]);
      const page = await again.read(room, { epoch, after: 2, limit: 5 });
      expect(page.complete).toBe(false);
      expect(texts(page.messages)).toEqual(['new']);
      expect(texts((await changesFrom(again, cursor, 10)).changes)).toEqual(['new']);
    });

    test('a closed store finishes what was begun, and rejects what comes then', async () => {
      const last = await open();
      const begun = last.append(room, [say('last')]);
      await Promise.all([last.close(), last.close()]);
      expect(offsets(await begun)).toEqual([1]);
      const closed = { code: 'HISTORY_UNAVAILABLE' };
      await expect(last.append(room, [say('x')])).rejects.toMatchObject(closed);
      await expect(last.read(room, { limit: 1 })).rejects.toMatchObject(closed);
      await expect(last.head(room)).rejects.toMatchObject(closed);
      await expect(last.trim(0)).rejects.toMatchObject(closed);
      await expect(last.changes(undefined, 1)).rejects.toMatchObject(closed);
    });
  });
}

function expectKept(
  all: readonly { from: string; text: string; offset: number }[],
  acknowledged: Acknowledged[],
): void {
  for (const { from, text, offset } of acknowledged) expect(all[offset - 1]).toMatchObject({ from, text, offset });
}
