import { describe, expect, test } from '@jest/globals';
import {
  MAX_PAGE_BYTES,
  type Page,
  type Position,
  type StoredMessage,
} from '../../../../src/features/history/store.js';
import { count, offsets, type Subject, say, sayNumbers, texts } from './subject.js';

function expectBounded(page: Page): void {
  expect(page).toMatchObject({ complete: true, offset: 900 });
  expect(page.messages.length).toBeGreaterThan(0);
  expect(JSON.stringify(page).length).toBeLessThanOrEqual(MAX_PAGE_BYTES + 100);
}

export function readContract(subject: Subject): void {
  describe('read', () => {
    test('ends a page early at a number of bytes, so that it can be continued', async () => {
      // JSON needs six bytes for a control character, and two for a quotation mark.
      const large = (n: number) => `${n} ${'x"\x01'.repeat(10_000)}`;
      const small = count(1, 100).map((n) => say(`${n}`));
      const all = [...small, ...count(101, 160).map((n) => say(large(n))), ...count(161, 900).map((n) => say(`${n}`))];
      for (let n = 0; n < all.length; n += 100) await subject.store.append(subject.room, all.slice(n, n + 100));
      const forwards: StoredMessage[] = [];
      const backwards: StoredMessage[] = [];
      const limit = 1000;
      for (let after = 0; after < 900; after = forwards.at(-1)!.offset) {
        const page = await subject.store.read(subject.room, { after, limit });
        expectBounded(page);
        forwards.push(...page.messages);
      }
      for (let before: number | undefined; before !== 1; before = backwards[0]!.offset) {
        const page = await subject.store.read(subject.room, { before, limit });
        expectBounded(page);
        backwards.unshift(...page.messages);
      }
      expect(offsets(forwards)).toEqual(count(1, 900));
      expect(texts(forwards)).toEqual(texts(all));
      expect(backwards).toEqual(forwards);
      const between = await subject.store.read(subject.room, { after: 90, before: 120, limit });
      expectBounded(between);
      expect(offsets(between.messages)).toEqual(count(91, 90 + between.messages.length));
    });

    test('gives a message that is larger than a page one of its own', async () => {
      const messages = count(1, 40).map((n) => say(`${n}${'x'.repeat(n === 20 ? 2 * MAX_PAGE_BYTES : 1)}`));
      const kept = await subject.store.append(subject.room, messages);
      const pageOf = async (query: object) =>
        offsets((await subject.store.read(subject.room, { limit: 100, ...query })).messages);
      expect(await pageOf({ after: 0 })).toEqual(count(1, 19));
      expect(await pageOf({ after: 19 })).toEqual([20]);
      expect(await pageOf({})).toEqual(count(21, 40));
      expect(await pageOf({ before: 21 })).toEqual([20]);
      expect(await pageOf({ after: 20, tag: kept[19]!.tag })).toEqual(count(21, 40));
      expect((await subject.store.read(subject.room, { after: 19, limit: 100 })).complete).toBe(true);
    });

    test('gives an empty conversation a position before its first message', async () => {
      const start = { offset: 0, tag: 0 };
      expect(await subject.store.head(subject.room)).toEqual(start);
      const page = await subject.store.read(subject.room, { after: 0, limit: 1 });
      expect(page).toEqual({ ...start, messages: [], after: 0, complete: true });
      for (const query of [{ after: 1 }, { after: 0, tag: 1 }]) {
        const beyond = await subject.store.read(subject.room, { ...query, limit: 1 });
        expect(beyond).toEqual({ ...page, complete: false, lost: true });
      }
      const [first] = await subject.store.append(subject.room, [say('x')]);
      expect(first).toEqual({ offset: 1, tag: expect.any(Number), before: 0 });
    });

    test('gives messages tags that grow, and each append successive ones', async () => {
      const other = await subject.open();
      const results = [];
      for (const store of [subject.store, other, subject.store]) {
        results.push(...(await store.append(subject.room, sayNumbers(1, 3))));
      }
      expect(results.map(({ before }) => before)).toEqual([0, ...results.slice(0, -1).map(({ tag }) => tag)]);
      for (const [index, { tag, before }] of results.entries()) {
        expect(tag).toBeGreaterThan(before);
        if (index % 3 > 0) expect(tag).toBe(before + 1);
      }
      const { messages } = await subject.store.read(subject.room, { after: 0, limit: 9 });
      expect(messages.map(({ tag }) => tag)).toEqual(results.map(({ tag }) => tag));
    });

    test('compares the position of a reader, and goes on behind what is not newer', async () => {
      const kept = await subject.store.append(subject.room, sayNumbers(1, 5));
      const [second, third] = kept.slice(1, 3) as Position[] as [Position, Position];
      const { tag } = kept.at(-1)!;
      const read = (query: object) => subject.store.read(subject.room, { limit: 2, ...query });
      expect(await read({ tag, after: 5 })).toMatchObject({ messages: [], after: 5, complete: true });
      expect(await read({ ...third, after: 3 })).toMatchObject({ after: 3, complete: true });
      // A reader of a room without messages has lost nothing.
      expect(await read({ tag: second.tag, after: 0 })).toEqual(await read({ after: 2 }));
      for (const [query, after, shown] of [
        [{ tag: 1, after: 3 }, 0, [1, 2]],
        [{ tag: third.tag, after: 2 }, 3, [4, 5]],
        [{ tag: third.tag, after: 9 }, 3, [4, 5]],
        [{ tag: tag + 1, after: 5 }, 5, []],
        [{ tag: tag + 1, after: 6 }, 5, []],
        [{ tag: tag + 1, after: 0 }, 5, []],
        [{ after: 6 }, 5, []],
        [{ tag: third.tag, before: 2 }, 1, [2, 3]],
        [{ tag: tag + 1, before: 9 }, 3, [4, 5]],
      ] as const) {
        const page = await read(query);
        expect(page).toMatchObject({ after, offset: 5, tag, complete: false, lost: true });
        expect(offsets(page.messages)).toEqual(shown);
      }
      expect(offsets((await read({ tag: third.tag, before: 3 })).messages)).toEqual([1, 2]);
      expect((await read({ tag: third.tag, before: 3 })).lost).toBeUndefined();
    });
  });
}
