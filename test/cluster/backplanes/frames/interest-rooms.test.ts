import { expect, test } from '@jest/globals';
import { Interest, Peer } from '../../../../src/cluster/backplanes/frames/interest/interest.js';
import { OwnRooms, roomKeyOf, WORKERS } from '../../../../src/cluster/backplanes/frames/interest/rooms.js';
import type { Node } from '../../../../src/cluster/node.js';
import { Envelope, numbersOf, senderOf } from '../../../../src/cluster/wire/envelope.js';
import { types } from '../../../../src/cluster/wire/types.js';

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

test('are kept for the first other worker, and told to the others as they change', async () => {
  const told: unknown[] = [];
  const node: Pick<Node, 'id' | 'head' | 'wayTo' | 'flush'> = {
    id: '1.machine-',
    head: (type, part) => ({ type, part, from: senderOf(1, 'machine-') }),
    wayTo: (worker) => (bytes) => {
      const { type, body } = Envelope.of(bytes);
      told.push([worker, type, numbersOf(body)]);
    },
    flush() {},
  };
  const interest = new Interest(node as Node, 0, { onChange() {}, onJoin() {}, onAdded() {} });
  interest.rooms.add('/', 'a');
  interest.rooms.add('/', 'brief');
  await new Promise(process.nextTick);
  interest.rooms.remove('/', 'brief');
  interest.peerOf('2.machine-');
  expect(told).toEqual([['2.machine-', types.rooms, [roomKeyOf(WORKERS, node.id), roomKeyOf('/', 'a')]]]);
  interest.rooms.add('/', 'b');
  await new Promise(process.nextTick);
  expect(told[1]).toEqual(['2.machine-', types.added, [expect.any(Number), roomKeyOf('/', 'b')]]);
  interest.close();
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
