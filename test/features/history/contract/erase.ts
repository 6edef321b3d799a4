import { expect, test } from '@jest/globals';
import type { HistoryStore } from '../../../../src/features/history/store.js';
import type { Subject } from './subject.js';

const at = Date.now();
const erased = { from: '', text: '' };

/** Appends messages with the texts 1, 2, 3 … */
async function write(store: HistoryStore, room: string, count: number): Promise<string> {
  const messages = Array.from({ length: count }, (_, index) => ({ from: 'ada', text: `${index + 1}`, at }));
  const [first] = await store.append(room, messages);
  return first!.epoch;
}

export function eraseContract(given: Subject): void {
  test('erased messages keep their places, wherever they are', async () => {
    const { store, room } = given;
    const epoch = await write(store, room, 8);
    expect(await store.erase(room, epoch, [1, 2, 4, 5, 8, 9, 100])).toBe(5);
    expect(await store.erase(room, epoch, [1, 2, 4, 5, 8])).toBe(0);
    const texts = ['', '', '3', '', '', '6', '7', ''];
    for (const query of [{ after: 0 }, {}, { before: 9 }, { epoch, after: 0 }]) {
      const page = await store.read(room, { ...query, limit: 100 });
      expect(page).toMatchObject({ complete: true, offset: 8, epoch });
      expect(page.messages.map(({ offset }) => offset)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      expect(page.messages.map(({ text }) => text)).toEqual(texts);
      expect(page.messages[0]).toMatchObject(erased);
    }
    const middle = await store.read(room, { after: 3, limit: 2 });
    expect(middle).toMatchObject({ complete: true, messages: [{ offset: 4 }, { offset: 5 }] });
    const back = await store.read(room, { before: 3, limit: 2 });
    expect(back).toMatchObject({ complete: true, messages: [{ offset: 1 }, { offset: 2 }] });
    const [next] = await store.append(room, [{ from: 'bob', text: 'next', at }]);
    expect(next).toEqual({ epoch, offset: 9 });
  });

  test('a whole conversation is erased, and goes on', async () => {
    const { store, room } = given;
    const epoch = await write(store, room, 3);
    expect(await store.erase(room, epoch, [3, 2, 1])).toBe(3);
    expect(await store.head(room)).toEqual({ epoch, offset: 3 });
    expect(await store.read(room, { epoch, after: 1, limit: 10 })).toMatchObject({
      complete: true,
      messages: [
        { offset: 2, ...erased },
        { offset: 3, ...erased },
      ],
    });
    await store.append(room, [{ from: 'bob', text: 'next', at }]);
    const page = await store.read(room, { epoch, after: 0, limit: 10 });
    expect(page).toMatchObject({ complete: true, offset: 4 });
    expect(page.messages.map(({ text }) => text)).toEqual(['', '', '', 'next']);
  });

  test('nothing is erased in another log, and only so much at once', async () => {
    const { store, room } = given;
    const epoch = await write(store, room, 1);
    expect(await store.erase(room, 'another', [1])).toBe(0);
    expect(await store.erase(`${room} without messages`, epoch, [1])).toBe(0);
    expect(await store.erase(room, epoch, [])).toBe(0);
    await expect(store.erase(room, epoch, Array(501).fill(1))).rejects.toThrow(RangeError);
    expect((await store.read(room, { limit: 1 })).messages).toMatchObject([{ text: '1' }]);
  });

  test('the log of changes has erased messages without their texts', async () => {
    const { store, room } = given;
    const epoch = await write(store, room, 4);
    await store.erase(room, epoch, [1, 3]);
    const found: [number, string][] = [];
    for (let cursor: string | undefined; ; ) {
      const next = await store.changes(cursor, 500);
      if (next.changes.length === 0) break;
      cursor = next.cursor;
      for (const change of next.changes) if (change.conversation === room) found.push([change.offset, change.text]);
    }
    expect(found).toEqual([
      [1, ''],
      [2, '2'],
      [3, ''],
      [4, '4'],
    ]);
  });

  test('erased messages are trimmed like others', async () => {
    const { room } = given;
    const store = await given.open({ maxMessages: 3 });
    const epoch = await write(store, room, 3);
    await store.erase(room, epoch, [1, 2]);
    await write(store, room, 6);
    const page = await store.read(room, { epoch, after: 0, limit: 100 });
    expect(page.complete).toBe(false);
    expect(page.messages.at(-1)).toMatchObject({ offset: 9, text: '6' });
    expect(page.messages.filter(({ text }) => text === '')).toEqual([]);
    const ttlMs = 1000;
    const short = await given.open({ ttlMs });
    const other = `${room} short`;
    const otherEpoch = await write(short, other, 3);
    await short.erase(other, otherEpoch, [1, 3]);
    await short.trim(at + 2 * ttlMs);
    const empty = await short.read(other, { epoch: otherEpoch, after: 0, limit: 10 });
    expect(empty).toMatchObject({ complete: false, messages: [], offset: 3 });
  });
}
