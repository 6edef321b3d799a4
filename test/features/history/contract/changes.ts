import { describe, expect, test } from '@jest/globals';
import { changesFrom, count, offsets, readAll, type Subject, say, texts } from './subject.js';

export function changesContract(subject: Subject): void {
  describe('changes', () => {
    test('tells everything once, each conversation in its order, to whoever has the cursor', async () => {
      const other = await subject.open();
      const start = await changesFrom(subject.store, undefined, 1000);
      const appends = count(0, 99).map((n) =>
        subject.store.append(
          `${subject.room}/${n % 7}`,
          count(0, n % 5).map((m) => say(`${n}.${m}`)),
        ),
      );
      await Promise.all(appends);
      const all = await changesFrom(other, start.cursor, 13);
      for (const name of count(0, 6).map((n) => `${subject.room}/${n}`)) {
        const own = all.changes.filter(({ conversation }) => conversation === name);
        expect(own.map(({ conversation: _, before: __, ...message }) => message)).toEqual(
          await readAll(subject.store, name),
        );
        expect(own.map(({ before }) => before)).toEqual([0, ...own.slice(0, -1).map(({ tag }) => tag)]);
      }
      expect(all.changes.length).toBe(300);
      expect((await subject.store.changes(all.cursor, 10)).changes).toEqual([]);
      await subject.store.append(subject.room, [say('more')]);
      expect(texts((await other.changes(all.cursor, 10)).changes)).toEqual(['more']);
    });
  });
}

export function endContract(subject: Subject): void {
  describe('in the end', () => {
    test('a lost log begins again, and says that it lacks what a reader has read', async () => {
      const lost = await subject.store.append(subject.room, [say('1'), say('2')]);
      const { tag } = lost[1]!;
      const { cursor } = await changesFrom(subject.store, undefined, 1000);
      await subject.lose();
      const again = subject.store;
      expect(await again.head(subject.room)).toEqual({ offset: 0, tag: 0 });
      const gone = { complete: false, lost: true, after: 0 };
      expect(await again.read(subject.room, { tag, after: 2, limit: 5 })).toMatchObject({ ...gone, messages: [] });
      const texts3 = ['new', 'newer', 'newest'];
      const fresh = await again.append(
        subject.room,
        texts3.map((text) => say(text)),
      );
      expect(fresh[0]).toMatchObject({ offset: 1, before: 0 });
      expect(fresh[0]!.tag).toBeGreaterThan(tag);
      const page = await again.read(subject.room, { tag, after: 2, limit: 5 });
      expect(page).toMatchObject(gone);
      expect(texts(page.messages)).toEqual(texts3);
      expect(texts((await changesFrom(again, cursor, 10)).changes)).toEqual(texts3);
    });

    test('a closed store finishes what was begun, and rejects what comes then', async () => {
      const last = await subject.open();
      const begun = last.append(subject.room, [say('last')]);
      await Promise.all([last.close(), last.close()]);
      expect(offsets(await begun)).toEqual([1]);
      const closed = { code: 'HISTORY_UNAVAILABLE' };
      await expect(last.append(subject.room, [say('x')])).rejects.toMatchObject(closed);
      await expect(last.read(subject.room, { limit: 1 })).rejects.toMatchObject(closed);
      await expect(last.head(subject.room)).rejects.toMatchObject(closed);
      await expect(last.trim(0)).rejects.toMatchObject(closed);
      await expect(last.changes(undefined, 1)).rejects.toMatchObject(closed);
    });
  });
}
