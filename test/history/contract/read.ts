import { describe, expect, test } from '@jest/globals';
import type { Position } from '../../../src/history/store.js';
import { count, offsets, type Subject, say, sayNumbers } from './subject.js';

export function readContract(subject: Subject): void {
  describe('read', () => {
    test('pages forwards', async () => {
      await subject.store.append(subject.room, sayNumbers(1, 25));
      const pages: number[][] = [];
      for (let after = 0; after < 25; after = pages.at(-1)!.at(-1)!) {
        const page = await subject.store.read(subject.room, { after, limit: 10 });
        expect(page).toMatchObject({ offset: 25, complete: true });
        pages.push(offsets(page.messages));
      }
      expect(pages).toEqual([count(1, 10), count(11, 20), count(21, 25)]);
      expect(await subject.store.read(subject.room, { after: 25, limit: 10 })).toMatchObject({
        messages: [],
        complete: true,
      });
    });

    test('pages backwards', async () => {
      await subject.store.append(subject.room, sayNumbers(1, 25));
      const newest = await subject.store.read(subject.room, { limit: 10 });
      expect(offsets(newest.messages)).toEqual(count(16, 25));
      expect(offsets((await subject.store.read(subject.room, { before: 16, limit: 10 })).messages)).toEqual(
        count(6, 15),
      );
      const oldest = await subject.store.read(subject.room, { before: 6, limit: 10 });
      expect(offsets(oldest.messages)).toEqual(count(1, 5));
      expect(oldest.complete).toBe(true);
      expect(await subject.store.read(subject.room, { before: 1, limit: 10 })).toMatchObject({
        messages: [],
        complete: true,
      });
    });

    test('reads between two offsets', async () => {
      await subject.store.append(subject.room, sayNumbers(1, 25));
      expect(offsets((await subject.store.read(subject.room, { after: 5, before: 9, limit: 10 })).messages)).toEqual([
        6, 7, 8,
      ]);
      expect(offsets((await subject.store.read(subject.room, { after: 5, before: 20, limit: 2 })).messages)).toEqual([
        6, 7,
      ]);
      expect((await subject.store.read(subject.room, { after: 9, before: 5, limit: 2 })).messages).toEqual([]);
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
