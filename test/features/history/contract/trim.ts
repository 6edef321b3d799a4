import { describe, expect, test } from '@jest/globals';
import { retentionOf } from '../../../../src/features/history/store.js';
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

    test('removes what is old from a conversation that gets a message at the same time', async () => {
      const short = await subject.open({ ttlMs: HOUR });
      const [first, second] = await short.append(subject.room, sayNumbers(1, 2, now - 2 * HOUR));
      await Promise.all([short.append(subject.room, [say('3', now)]), short.trim(now)]);
      const gone = { messages: [{ text: '3', offset: 3 }], complete: false, offset: 3, after: 2 };
      expect(await short.read(subject.room, { after: 0, limit: 1 })).toMatchObject(gone);
      const between = await short.read(subject.room, { tag: first!.tag, after: 1, limit: 1 });
      expect(between).toMatchObject(gone);
      const next = await short.read(subject.room, { tag: second!.tag, after: 2, limit: 1 });
      expect(next).toMatchObject({ ...gone, complete: true });
      for (const { lost } of [between, next]) expect(lost).toBeUndefined();
    });

    test('forgets no conversation that gets a message at the same time', async () => {
      const short = await subject.open({ ttlMs: HOUR });
      await short.append(subject.room, [say('1', now - 2 * HOUR)]);
      await short.trim(now);
      const later = Date.now() + retentionOf(HOUR) + HOUR;
      const [[added]] = await Promise.all([short.append(subject.room, [say('2', later)]), short.trim(later)]);
      const { messages } = await short.read(subject.room, { after: 0, limit: 10 });
      expect(messages).toMatchObject([{ text: '2', offset: added!.offset, tag: added!.tag }]);
    });
  });
}
