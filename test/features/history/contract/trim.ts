import { describe, expect, test } from '@jest/globals';
import { HOUR, offsets, type Subject, say, sayNumbers } from './subject.js';

export function trimContract(subject: Subject): void {
  describe('trimming', () => {
    const now = Date.now();

    test('counts on where everything is gone', async () => {
      const short = await subject.open({ ttlMs: HOUR });
      const old = sayNumbers(1, 1300, now - 2 * HOUR);
      await short.append(subject.room, old.slice(0, 900));
      const { tag } = (await short.append(subject.room, old.slice(900))).at(-1)!;
      expect(await short.trim(now)).toBe(1300);
      expect(await short.head(subject.room)).toEqual({ offset: 1300, tag });
      expect(await short.read(subject.room, { tag: tag - 1, after: 1299, limit: 1 })).toMatchObject({
        messages: [],
        complete: false,
      });
      expect(await short.read(subject.room, { tag, after: 1300, limit: 1 })).toMatchObject({
        messages: [],
        complete: true,
      });
      const other = await short.read(subject.room, { tag: tag - 1, after: 1300, limit: 1 });
      expect(other).toMatchObject({ messages: [], complete: false, lost: true });
      expect(offsets(await short.append(subject.room, [say('x', now)]))).toEqual([1301]);
      expect(await short.trim(now + HOUR + 1)).toBeGreaterThanOrEqual(1);
      expect((await short.read(subject.room, { limit: 1 })).messages).toEqual([]);
    });
  });
}
