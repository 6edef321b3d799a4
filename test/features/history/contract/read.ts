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
      await subject.store.append(subject.room, messages);
      const pageOf = async (query: object) =>
        offsets((await subject.store.read(subject.room, { limit: 100, ...query })).messages);
      expect(await pageOf({ after: 0 })).toEqual(count(1, 19));
      expect(await pageOf({ after: 19 })).toEqual([20]);
      expect(await pageOf({})).toEqual(count(21, 40));
      expect(await pageOf({ before: 21 })).toEqual([20]);
      expect((await subject.store.read(subject.room, { after: 19, limit: 100 })).complete).toBe(true);
    });

    test('gives an empty conversation an epoch that stays', async () => {
      const head = await subject.store.head(subject.room);
      expect(head).toEqual({ epoch: expect.stringMatching(/./), offset: 0 });
      const other = await subject.open();
      expect(await other.head(subject.room)).toEqual(head);
      expect(await other.read(subject.room, { after: 0, limit: 1 })).toEqual({ ...head, messages: [], complete: true });
      expect(await other.append(subject.room, [say('x')])).toEqual([{ epoch: head.epoch, offset: 1 }]);
      expect(await subject.store.head(subject.room)).toEqual({ epoch: head.epoch, offset: 1 });
    });

    test('says so when a position is not of this log', async () => {
      const [{ epoch }] = (await subject.store.append(subject.room, sayNumbers(1, 5))) as [Position];
      const read = (query: object) => subject.store.read(subject.room, { limit: 2, ...query });
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
}
