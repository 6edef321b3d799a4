import { expect, test } from '@jest/globals';
import { type Subject, sayNumbers } from './subject.js';

/** What erasing does to a log is in ../store.model.ts. */
export function eraseContract(subject: Subject): void {
  test('nothing is erased with another tag, and only so much at once', async () => {
    const { store, room } = subject;
    const [place] = await store.append(room, sayNumbers(1, 1));
    const { offset, tag } = place!;
    expect(await store.erase(room, [{ offset, tag: tag - 1 }])).toBe(0);
    expect(await store.erase(`${room} without messages`, [{ offset, tag }])).toBe(0);
    expect(await store.erase(room, [])).toBe(0);
    await expect(store.erase(room, Array(501).fill(place))).rejects.toThrow(RangeError);
    expect((await store.read(room, { limit: 1 })).messages).toMatchObject([{ text: '1' }]);
  });
}
