import { expect, test } from '@jest/globals';
import { machineTime } from '../../../src/base/clock.js';
import { JoinedRooms } from '../../../src/features/recovery/joined-rooms.js';

test('a room that may have been forgotten counts as joined, for as long as clients can return', () => {
  const rooms = new JoinedRooms(2);
  const start = machineTime();
  rooms.add('a');
  rooms.add('b');
  expect(['a', 'b', 'c'].map((room) => rooms.mayHave(room))).toEqual([true, true, false]);
  rooms.add('c');
  expect(['a', 'b', 'c', 'd'].map((room) => rooms.mayHave(room))).toEqual([true, true, true, true]);
  rooms.sweep(start);
  expect(rooms.mayHave('d')).toBe(true);
  rooms.sweep(machineTime() + 1);
  expect(['a', 'b', 'c', 'd'].map((room) => rooms.mayHave(room))).toEqual([false, false, false, false]);
});
