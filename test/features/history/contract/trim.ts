import { describe, expect, test } from '@jest/globals';
import { count, HOUR, offsets, type Subject, say, sayNumbers, texts } from './subject.js';

export function trimContract(subject: Subject): void {
  describe('trimming', () => {
    const now = Date.now();

    test('removes what is too old, leaves offsets as they are, and tells who asks for it', async () => {
      const short = await subject.open({ ttlMs: HOUR });
      const { epoch } = (await short.append(subject.room, [say('1', now - 3 * HOUR), say('2', now - 2 * HOUR)]))[0]!;
      await short.append(subject.room, [say('3', now), say('4', now - 2 * HOUR), say('5', now)]);
      expect(await short.trim(now)).toBe(2);
      expect(await short.trim(now)).toBe(0);
      const page = await short.read(subject.room, { after: 0, limit: 10 });
      expect(page).toMatchObject({ epoch, offset: 5, complete: false });
      // The fourth is older than its TTL, but not at the beginning.
      expect(offsets(page.messages)).toEqual([3, 4, 5]);
      expect((await short.read(subject.room, { epoch, after: 1, limit: 10 })).complete).toBe(false);
      expect((await short.read(subject.room, { epoch, after: 2, limit: 10 })).complete).toBe(true);
      expect(await short.read(subject.room, { before: 3, limit: 10 })).toMatchObject({ messages: [], complete: false });
      expect((await short.read(subject.room, { limit: 3 })).complete).toBe(true);
      expect((await short.read(subject.room, { limit: 4 })).complete).toBe(false);
      expect(await short.append(subject.room, [say('6')])).toEqual([{ epoch, offset: 6 }]);
    });

    test('counts on where everything is gone', async () => {
      const short = await subject.open({ ttlMs: HOUR });
      const old = sayNumbers(1, 1300, now - 2 * HOUR);
      await short.append(subject.room, old.slice(0, 900));
      const { epoch } = (await short.append(subject.room, old.slice(900)))[0]!;
      expect(await short.trim(now)).toBe(1300);
      expect(await short.head(subject.room)).toEqual({ epoch, offset: 1300 });
      expect(await short.read(subject.room, { epoch, after: 1299, limit: 1 })).toMatchObject({
        messages: [],
        complete: false,
      });
      expect(await short.read(subject.room, { epoch, after: 1300, limit: 1 })).toMatchObject({
        messages: [],
        complete: true,
      });
      expect(offsets(await short.append(subject.room, [say('x', now)]))).toEqual([1301]);
      expect(await short.trim(now + HOUR + 1)).toBeGreaterThanOrEqual(1);
      expect((await short.read(subject.room, { limit: 1 })).messages).toEqual([]);
    });

    test('goes by the oldest message that is left, though clocks differ', async () => {
      const small = await subject.open({ ttlMs: HOUR, maxMessages: 2 });
      await small.append(subject.room, [say('ahead', now + 2 * HOUR), say('behind', now - 2 * HOUR)]);
      await small.append(subject.room, [say('new', now)]);
      await small.trim(now);
      expect(texts((await small.read(subject.room, { limit: 5 })).messages)).toEqual(['new']);
    });

    test('keeps no more than the maximum', async () => {
      const small = await subject.open({ maxMessages: 10 });
      await small.append(subject.room, sayNumbers(1, 9));
      expect((await small.read(subject.room, { after: 0, limit: 20 })).complete).toBe(true);
      await small.append(subject.room, sayNumbers(10, 27));
      const page = await small.read(subject.room, { after: 0, limit: 20 });
      expect(page).toMatchObject({ offset: 27, complete: false });
      expect(offsets(page.messages)).toEqual(count(18, 27));
    });
  });
}
