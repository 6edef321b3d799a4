import { expect, test } from '@jest/globals';
import { Peer } from '../../../src/backplanes/frames/interest/interest.js';
import { keyOf, OwnRooms, RoomSet } from '../../../src/backplanes/frames/interest/rooms.js';

test('are announced when the first member enters and the last one leaves, with what cancels out left out', () => {
  const calls: string[] = [];
  const rooms = new OwnRooms(
    () => calls.push('new'),
    () => calls.push('old'),
  );
  rooms.add('/', 'a');
  rooms.add('/', 'brief');
  rooms.remove('/', 'brief');
  expect(rooms.takeChanges()).toEqual({ added: [keyOf('/', 'a')], removed: [] });
  rooms.remove('/', 'a');
  rooms.add('/', 'a');
  expect(rooms.takeChanges()).toEqual({ added: [], removed: [] });
  rooms.remove('/', 'a');
  expect(rooms.takeChanges()).toEqual({ added: [], removed: [keyOf('/', 'a')] });
  expect(calls).toEqual(['new', 'new', 'old', 'old']);
});

test('what a worker knows of another is compared by a checksum, and forgotten where it differs', () => {
  const peer = new Peer('other', { add: () => {}, send: () => {} });
  const rooms = new RoomSet();
  const matchesAfter = (...keys: number[]) => {
    for (const key of keys) rooms.add(key);
    return peer.matches(rooms.checksum.count, rooms.checksum.sum);
  };
  // A worker that has announced nothing yet gets everything.
  expect(peer.wants([7])).toBe(true);
  peer.replace([1, 2]);
  expect([peer.wants([7]), peer.wants([7, 2])]).toEqual([false, true]);
  expect(matchesAfter(2, 1)).toBe(true);
  expect(peer.wants([7])).toBe(false);
  expect(matchesAfter(3)).toBe(false);
  expect(peer.wants([7])).toBe(true);
});

test('keys differ by namespace and room', () => {
  const keys = ['/', '/a', '/a/b'].flatMap((nsp) => ['', 'b', 'a', 'ab', 'ba', 'ü'].map((room) => keyOf(nsp, room)));
  expect(new Set(keys).size).toBe(keys.length);
  for (const key of keys) expect(key).toBe(key & 0x7fffffff);
});
