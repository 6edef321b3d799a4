import { expect, test } from '@jest/globals';
import { Peer } from '../../../../src/cluster/backplanes/frames/interest/interest.js';
import { OwnRooms, roomKeyOf } from '../../../../src/cluster/backplanes/frames/interest/rooms.js';

test('are announced when the first member enters and the last one leaves, with what cancels out left out', () => {
  const calls: string[] = [];
  const rooms = new OwnRooms(
    () => calls.push('new'),
    () => calls.push('old'),
  );
  rooms.add('/', 'a');
  rooms.add('/', 'brief');
  rooms.remove('/', 'brief');
  expect(rooms.takeChanges()).toEqual({ added: [roomKeyOf('/', 'a')], removed: [] });
  rooms.remove('/', 'a');
  rooms.add('/', 'a');
  expect(rooms.takeChanges()).toEqual({ added: [], removed: [] });
  rooms.remove('/', 'a');
  expect(rooms.takeChanges()).toEqual({ added: [], removed: [roomKeyOf('/', 'a')] });
  expect(calls).toEqual(['new', 'new', 'old', 'old']);
});

test('a worker that has announced nothing yet, or whose rooms are forgotten, gets everything', () => {
  const peer = new Peer('other', () => {});
  expect(peer.wants([7])).toBe(true);
  peer.replace([1, 2]);
  expect([peer.wants([7]), peer.wants([7, 2])]).toEqual([false, true]);
  peer.forget();
  expect(peer.wants([7])).toBe(true);
});

test('keys differ by namespace and room', () => {
  const keys = ['/', '/a', '/a/b'].flatMap((nsp) =>
    ['', 'b', 'a', 'ab', 'ba', 'ü'].map((room) => roomKeyOf(nsp, room)),
  );
  expect(new Set(keys).size).toBe(keys.length);
  for (const key of keys) expect(key).toBe(key & 0x7fffffff);
});
