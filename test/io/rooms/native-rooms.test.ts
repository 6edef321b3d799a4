import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { topicNameOf } from '../../../src/io/rooms/topics.js';
import { alone } from '../../../src/io/server/default-adapter.js';
import { nextEvent } from '../../support/clients.js';
import { atEnd } from '../../support/ends.js';
import { until } from '../../support/until.js';
import { disconnectAll, type Pair, pairOn, receivedBy } from './support/clients.js';
import { startNode, type TestNode } from './support/node.js';
import { startStock } from './support/stock.js';

type Node = Pick<TestNode, 'io' | 'url' | 'close'>;

/** All of this is what stock socket.io does: it takes the same tests. */
describe.each<[string, () => Promise<Node>]>([
  ['stock socket.io', () => startStock()],
  ['native rooms', () => startNode(alone)],
])('%s', (_name, start) => {
  let node: Node;

  beforeAll(async () => {
    node = await start();
    node.io.of('/joining').use((socket, next) => {
      void socket.join('room');
      node.io.of('/joining').to('room').emit('early', socket.id);
      next();
    });
  });

  afterEach(async () => {
    disconnectAll();
    await until(() => node.io.engine.clientsCount === 0);
  });

  afterAll(() => node.close());

  /** Enough for a room to be a topic, in a room that has been spoken to. */
  async function inRoom(count = 5, namespace = '/'): Promise<Pair[]> {
    const pairs: Pair[] = [];
    for (let index = 0; index < count; index++) pairs.push(await pairOn(node, { namespace }));
    for (const { socket } of pairs) await socket.join('room');
    node.io.of(namespace).to('room').emit('first');
    return pairs;
  }

  const eventsOf = async (pairs: Pair[]) =>
    (await receivedBy(pairs, [node])).map((received) => received.map((values) => values.join(' ')));

  test('who is disconnected still hears what was said before', async () => {
    const pairs = await inRoom();
    const [gone, left] = pairs as [Pair, Pair];
    const ends = [gone, left].map(({ client }) => nextEvent(client, 'disconnect'));
    node.io.to('room').emit('n', 1);
    gone.socket.disconnect(true);
    left.socket.disconnect();
    node.io.to('room').emit('n', 2);
    await Promise.all(ends);
    for (const { received } of [gone, left]) expect(received.at(-1)).toEqual(['n', 1]);
    expect(await eventsOf(pairs.slice(2))).toEqual(pairs.slice(2).map(() => ['first', 'n 1', 'n 2']));
  });

  test('one connection may be in several namespaces, and leave one of them', async () => {
    const pairs = await inRoom(4);
    node.io.of('/other').on('connection', (socket) => void socket.join('room'));
    const heard: unknown[] = [];
    const other = pairs[0]!.client.io.socket('/other');
    other.onAny((...values) => heard.push(values));
    await nextEvent(other, 'connect');
    node.io.of('/other').emit('to the other');
    node.io.to('room').emit('to the first');
    pairs[0]!.socket.disconnect();
    node.io.to('room').emit('to those who are left');
    const fence = nextEvent(other, 'fence');
    node.io.of('/other').emit('fence');
    await fence;
    other.disconnect();
    expect(heard).toEqual([['to the other'], ['fence']]);
    expect(pairs[0]!.received.at(-1)).toEqual(['to the first']);
  });

  test.each(['\x1f', '\x1e', '\n', ':', '4:', '6:'])(
    'no namespace is a room of another, joined by %j',
    async (border) => {
      node.io.of(/^\/team/);
      const pairs = await inRoom(4, '/team');
      const strangers = await Promise.all(
        pairs.map(async () => {
          const { client } = await pairOn(node);
          const packets: unknown[] = [];
          client.io.on('packet', ({ nsp, data }) => packets.push([nsp, data]));
          const socket = client.io.socket(`/team${border}room`);
          await nextEvent(socket, 'connect');
          packets.length = 0;
          return { socket, packets };
        }),
      );
      const namespace = node.io.of(`/team${border}room`);
      namespace.emit('to all');
      node.io.of('/team').to('room').emit('to the room');
      const fences = strangers.map(({ socket }) => nextEvent(socket, 'fence'));
      namespace.emit('fence');
      await Promise.all(fences);
      for (const { socket } of strangers) socket.disconnect();
      const expected = ['to all', 'fence'].map((event) => [namespace.name, [event]]);
      expect(strangers.map(({ packets }) => packets)).toEqual(Array(4).fill(expected));
      expect(await eventsOf(pairs)).toEqual(Array(4).fill(['first', 'to the room']));
    },
  );

  test('who leaves all rooms and joins another one hears what is for all again', async () => {
    const pairs = await inRoom(4);
    node.io.emit('all', 1);
    const told: unknown[] = [];
    pairs[0]!.socket.onAnyOutgoing((event) => told.push(event));
    for (const { socket } of pairs) {
      (socket as unknown as { leaveAll(): void }).leaveAll();
      void socket.join('next');
    }
    node.io.emit('all', 2);
    node.io.to('next').emit('next');
    pairs[0]!.socket.broadcast.emit('others');
    node.io.to('room').emit('left');
    // It excepts the members of its own room, and is none any more.
    expect(await eventsOf(pairs)).toEqual(pairs.map(() => ['first', 'all 1', 'all 2', 'next', 'others']));
    expect(told.slice(0, 2)).toEqual(['all', 'next']);
  });

  test('who gets another id once it is connected hears what is for all, and for rooms of before', async () => {
    const pairs = await inRoom(4);
    for (const [index, { socket }] of pairs.entries()) Object.assign(socket, { id: `user-${index}` });
    const polling = await pairOn(node, { transports: ['polling'] });
    await polling.socket.join('room');
    Object.assign(polling.socket, { id: 'user-polling' });
    node.io.emit('all');
    node.io.to('room').emit('room');
    for (const { socket } of pairs) void socket.join('later');
    node.io.to('later').emit('later');
    node.io.to('room').emit('room');
    expect(await eventsOf([...pairs, polling])).toEqual([
      ...pairs.map(() => ['first', 'all', 'room', 'room']),
      ['all', 'room', 'room'],
    ]);
  });

  test('who joins in a middleware is a member once it is connected', async () => {
    const pairs = await Promise.all(Array.from({ length: 4 }, () => pairOn(node, { namespace: '/joining' })));
    node.io.of('/joining').to('room').emit('hello');
    const received = await eventsOf(pairs);
    for (const [index, { socket }] of pairs.entries()) {
      expect(received[index]!.filter((event) => event === 'hello')).toHaveLength(1);
      expect(received[index]).not.toContain(`early ${socket.id}`);
    }
  });

  test('listeners of onAnyOutgoing are told of broadcasts, from when they are added', async () => {
    const pairs = await inRoom();
    const told: unknown[][] = [];
    const [{ socket }] = pairs as [Pair];
    const listener = (...values: unknown[]) => told.push(values);
    node.io.to('room').emit('before');
    socket.onAnyOutgoing(listener);
    node.io.to('room').emit('to the room', { bytes: Buffer.from([1]) });
    node.io.emit('to all', 1);
    pairs[1]!.socket.broadcast.emit('from another');
    node.io.to('room').except(socket.id).emit('not to this one');
    socket.emit('unicast');
    await socket.join('new');
    node.io.to(['new', 'room']).emit('to both');
    const [received] = await eventsOf(pairs);
    socket.offAnyOutgoing(listener);
    node.io.to('room').emit('after');
    const expected = ['to the room', 'to all', 'from another', 'unicast', 'to both'];
    expect(told.map(([event]) => event).filter((event) => !String(event).startsWith('fence'))).toEqual(expected);
    expect(told[0]).toEqual(['to the room', { bytes: Buffer.from([1]) }]);
    expect(received!.map((event) => event.replace(/ (\[object Object\]|1)$/, ''))).toEqual([
      'first',
      'before',
      ...expected,
    ]);
    expect((await eventsOf(pairs))[0]!.at(-1)).toBe('after');
  });

  test('listeners of a session see broadcasts', async () => {
    const seen: string[] = [];
    node.io.engine.once('connection', (session: NodeJS.EventEmitter) => {
      session.on('packetCreate', ({ data }: { data: unknown }) => seen.push(String(data)));
    });
    const pairs = await inRoom();
    node.io.to('room').emit('n', 1);
    expect((await eventsOf(pairs))[0]).toEqual(['first', 'n 1']);
    expect(seen).toEqual(expect.arrayContaining(['2["first"]', '2["n",1]']));
  });

  test('a client that upgrades in the middle misses nothing and hears nothing twice', async () => {
    const pairs = await inRoom(4);
    const upgrading = await pairOn(node, { transports: ['polling', 'websocket'] });
    await upgrading.socket.join('room');
    const { engine } = upgrading.client.io;
    const upgraded = engine.transport.name === 'websocket' ? Promise.resolve() : nextEvent(engine, 'upgrade');
    let isUpgraded = false;
    void upgraded.then(() => {
      isUpgraded = true;
    });
    let count = 0;
    for (let rest = 50; rest > 0; rest -= isUpgraded ? 1 : 0) {
      if (count % 2) node.io.to('room').emit('n', count++);
      else upgrading.socket.emit('n', count++);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const received = await receivedBy([upgrading, ...pairs], [node]);
    expect(received[0]!.map((values) => values[1])).toEqual(Array.from({ length: count }, (_, n) => n));
  });
});

test('each broadcast counts once, however many members and workers there are', async () => {
  const node = await startNode(alone);
  const counted = (emit: () => unknown) => {
    const before = node.engine.counters.broadcasts;
    emit();
    return node.engine.counters.broadcasts - before;
  };
  const { io } = node;
  atEnd(disconnectAll, () => node.close());
  const pairs = await Promise.all([1, 2, 3, 4].map(() => pairOn(node)));
  for (const [at, { socket }] of pairs.entries()) for (let room = 0; room <= at; room++) await socket.join(`r${room}`);
  for (let room = 0; room < 4; room++) expect(counted(() => io.to(`r${room}`).emit('n', Buffer.of(1)))).toBe(1);
  expect(counted(() => io.emit('n'))).toBe(1);
  expect(counted(() => io.local.emit('n'))).toBe(0);
  expect(counted(() => io.to(['r0', 'r1', 'none']).emit('n'))).toBe(1);
  // Its members may be on other workers.
  expect(counted(() => io.to('none').emit('n'))).toBe(1);
  expect(counted(() => io.to(pairs[0]!.socket.id).emit('n'))).toBe(0);
  expect(counted(() => pairs[0]!.socket.emit('n'))).toBe(0);
});

test('the busiest rooms are those with members here, and no ids of sockets', async () => {
  const node = await startNode(alone);
  atEnd(disconnectAll, () => node.close());
  const { io, engine } = node;
  const { socket } = await pairOn(node);
  await socket.join('room');
  const emitted = ['room', 'none', socket.id, `2.abcdefgh.${'x'.repeat(20)}`];
  for (let round = 0; round < 5; round++) for (const room of emitted) io.to(room).emit('n');
  expect(engine.busyRooms.top(10).map(({ key }) => key)).toEqual([topicNameOf('/', 'room')]);
});
