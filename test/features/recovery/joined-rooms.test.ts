import { expect, test } from '@jest/globals';
import { JoinedRooms } from '../../../src/features/recovery/joined-rooms.js';
import { ticks } from '../../support/clock.js';

test('a room that may have been forgotten counts as joined, for as long as clients can return', () => {
  const rooms = new JoinedRooms(2);
  const start = ticks();
  rooms.add('a');
  rooms.add('b');
  expect(['a', 'b', 'c'].map((room) => rooms.mayHave(room))).toEqual([true, true, false]);
  rooms.add('c');
  expect(['a', 'b', 'c', 'd'].map((room) => rooms.mayHave(room))).toEqual([true, true, true, true]);
  rooms.sweep(start);
  expect(rooms.mayHave('d')).toBe(true);
  rooms.sweep(ticks() + 1);
  expect(['a', 'b', 'c', 'd'].map((room) => rooms.mayHave(room))).toEqual([false, false, false, false]);
});
