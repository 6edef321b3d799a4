import { expect, test } from '@jest/globals';
import { type Subject, sayNumbers } from './subject.js';

/** What erasing does to a log is in ../store.model.ts. */
export function eraseContract(subject: Subject): void {
  test('nothing is erased in another log, and only so much at once', async () => {
    const { store, room } = subject;
    const [{ epoch } = { epoch: '' }] = await store.append(room, sayNumbers(1, 1));
    expect(await store.erase(room, 'another', [1])).toBe(0);
    expect(await store.erase(`${room} without messages`, epoch, [1])).toBe(0);
    expect(await store.erase(room, epoch, [])).toBe(0);
    await expect(store.erase(room, epoch, Array(501).fill(1))).rejects.toThrow(RangeError);
    expect((await store.read(room, { limit: 1 })).messages).toMatchObject([{ text: '1' }]);
  });
}
