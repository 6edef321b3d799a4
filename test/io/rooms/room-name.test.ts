import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { nameOf } from '../../../src/base/names.js';
import { decodeBroadcast, encodeBroadcast } from '../../../src/cluster/wire/broadcast.js';
import { Envelope, senderOf } from '../../../src/cluster/wire/envelope.js';
import { types } from '../../../src/cluster/wire/types.js';
import { alone } from '../../../src/io/server/default-adapter.js';
import { disconnectAll, pairOn, receivedBy } from './support/clients.js';
import { startNode, type TestNode } from './support/node.js';

/** Each has halves of surrogate pairs; UTF-8 alone would make many of them equal. */
const NAMES = [
  'a\ud800',
  'a\ud801',
  'a\udfff',
  'a\udc00\ud800',
  '\ufffd',
  '\ufffdd800',
  'a\ufffdd800',
  'a\ufffd',
  '\ud800',
];

test('the names of rooms are the same behind a frame, however long', () => {
  const rooms = [...NAMES, '', 'a', 'room 😀', 'é', '€', '\ud800'.repeat(100_000)].map(nameOf);
  const broadcast = { nsp: '/', packetType: 2, rooms, except: NAMES.map(nameOf), flags: {}, encoded: ['2["x"]'] };
  const head = { type: types.broadcast, part: 0, from: senderOf(1, 'machine0') };
  expect(decodeBroadcast(Envelope.of(encodeBroadcast(broadcast, head)).body)).toEqual(broadcast);
});

/** What a client may send where an application expects a room. */
const ODD = [null, [null], undefined, 5, true, {}, { length: 5 }, Buffer.from('a')] as unknown as string[];

describe('native rooms', () => {
  let node: TestNode;

  beforeAll(async () => {
    node = await startNode(alone);
  });
  afterEach(disconnectAll);
  afterAll(() => node.close());

  test('whose names differ in half a surrogate pair have different members', async () => {
    const pairs = [];
    for (let index = 0; index < 6; index++) pairs.push(await pairOn(node));
    const [one, other] = ['a\ud800', 'a\udfff'];
    for (const [index, { socket }] of pairs.entries()) await socket.join(index < 3 ? one! : other!);
    for (let round = 0; round < 2; round++) for (const room of [one!, other!]) node.io.to(room).emit('to', room, round);
    const heard = await receivedBy(pairs, [node]);
    const values = (room: string) => [0, 1].map((round) => ['to', room, round]);
    expect(heard).toEqual([...Array(3).fill(values(one!)), ...Array(3).fill(values(other!))]);
  });

  test('that are no strings have no members, and end nothing', async () => {
    const { client, socket } = await pairOn(node);
    for (const room of ODD) {
      node.io.to(room).emit('odd');
      node.io.volatile.to(room).except(room).emit('odd');
      socket.to(room).emit('odd');
      node.io.in(room).disconnectSockets();
      node.io.in(room).socketsJoin('room');
    }
    const heard = new Promise((resolve) => client.once('alive', resolve));
    socket.emit('alive', [...socket.rooms]);
    expect(await heard).toEqual([socket.id]);
  });
});
