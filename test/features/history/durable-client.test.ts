import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type Socket as Client, io as connect } from 'socket.io-client';
import { DurableRooms as Helper, Rooms } from '../../../public/gjallar-client.js';
import { createDurableRooms, type DurableRooms } from '../../../src/features/history/index.js';
import { replaceTags } from '../../../src/features/history/tags.js';
import { alone } from '../../../src/io/server/default-adapter.js';
import { disconnectAll, pairOn } from '../../io/rooms/support/clients.js';
import { startNode, type TestNode } from '../../io/rooms/support/node.js';
import { nextEvent } from '../../support/clients.js';
import { temporaryFolder } from '../../support/folder.js';
import { until } from '../../support/until.js';

interface Events {
  n(number: number): void;
  text(text: string): void;
}

let dataDir: string;
let node: TestNode;
let durable: DurableRooms<Events>;
/** Admits or rejects those who ask for `order:later`, in the order in which they ask. */
const deciding: ((may: boolean) => void)[] = [];
const clients: Client[] = [];

beforeAll(async () => {
  dataDir = temporaryFolder();
  node = await startNode(alone);
  durable = await createDurableRooms<Events>(node.io, {
    rooms: 'order:*',
    dataDir,
    mayJoin: (_socket, room) => {
      if (room === 'order:later') return new Promise<boolean>((resolve) => deciding.push(resolve));
      return room !== 'order:secret';
    },
  });
});

afterEach(() => {
  deciding.length = 0;
  disconnectAll();
  for (const client of clients.splice(0)) client.disconnect();
});

afterAll(async () => {
  await durable.close();
  await node.close();
});

/** A client that is not connected yet. */
function clientOf(options: object = {}): Client {
  const client = connect(node.url, { forceNew: true, transports: ['websocket'], ...options });
  clients.push(client);
  return client;
}

async function keep(room: string, ...numbers: number[]): Promise<void> {
  for (const number of numbers) await durable.to(room).emit('n', number);
}

test('messages wait for the first listener, and all listeners of its turn miss nothing', async () => {
  await keep('order:1', 1, 2);
  await durable.to('order:1').emit('text', 'three');
  const { client } = await pairOn(node);
  const rooms = new Helper<Events>(client);
  const recovered: unknown[] = [];
  const order = await rooms.join('order:1', { last: 2, onRecovered: (recovery) => recovered.push(recovery) });
  expect(order).toMatchObject({ ok: true, room: 'order:1', offset: 3 });
  await keep('order:1', 4);
  await client.emitWithAck('durable:read', { room: 'order:1' });
  const heard: unknown[] = [];
  order.on('n', (number) => heard.push(number, order.position?.offset));
  order.on('text', (text) => heard.push(text, order.position?.offset));
  await until(() => heard.length === 6);
  expect(heard).toEqual([2, 2, 'three', 3, 4, 4]);
  expect(recovered).toMatchObject([{ isFirst: true, complete: true, room: 'order:1' }]);
  // What is not listened to is delivered, too.
  await durable.to('order:1', { key: 'once' }).emit('text', 'five');
  expect(await durable.to('order:1', { key: 'once' }).emit('text', 'five')).toMatchObject({ duplicate: true });
  await until(() => heard.at(-2) === 'five');
  const again = await new Helper<Events>(client).join('order:1', { position: order.position });
  expect(again.position).toEqual(order.position);
});

test('a second join adds to the first, and leaving ends both', async () => {
  const { client, socket } = await pairOn(node);
  const rooms = new Helper<Events>(client);
  const heard: unknown[] = [];
  const first = await rooms.join('order:2', { onMessage: ({ values }) => heard.push(['first', ...values]) });
  const second = await rooms.join('order:2', { onMessage: ({ values }) => heard.push(['second', ...values]) });
  expect(second).toBe(first);
  const listener = (number: number) => heard.push(['third', number]);
  second.on('n', listener);
  await keep('order:2', 1);
  await until(() => heard.length === 3);
  expect(heard).toEqual([
    ['first', 1],
    ['second', 1],
    ['third', 1],
  ]);
  second.off('n', listener);
  await keep('order:2', 2);
  await until(() => heard.length === 5);
  await first.leave();
  expect(socket.rooms.has('order:2')).toBe(false);
  await keep('order:2', 3);
  await client.emitWithAck('durable:leave', 'order:2');
  expect(heard).toHaveLength(5);
});

test('a client that leaves while the server decides on its join is no member afterwards', async () => {
  const { client, socket } = await pairOn(node);
  const rooms = new Helper<Events>(client);
  const joining = rooms.join('order:later');
  await until(() => deciding.length === 1);
  const leaving = rooms.leave('order:later');
  // The server has heard of everything that the client has asked for.
  await client.emitWithAck('durable:leave', 'order:other');
  deciding[0]!(true);
  await Promise.all([joining, leaving]);
  expect(socket.rooms.has('order:later')).toBe(false);
});

test.each([true, false])(
  'a client that leaves and joins again while the server decides on its first join hears the room, where the first is answered with %s',
  async (mayJoinFirst) => {
    const { client, socket } = await pairOn(node);
    const rooms = new Helper<Events>(client);
    const heard: unknown[] = [];
    const first = rooms.join('order:later', { onMessage: ({ values }) => heard.push(['first', ...values]) });
    await until(() => deciding.length === 1);
    const leaving = rooms.leave('order:later');
    const second = rooms.join('order:later', { onMessage: ({ values }) => heard.push(['second', ...values]) });
    await until(() => deciding.length === 2);
    deciding[0]!(mayJoinFirst);
    const [outcome] = await Promise.allSettled([first]);
    expect(outcome.status).toBe(mayJoinFirst ? 'fulfilled' : 'rejected');
    deciding[1]!(true);
    await second;
    await leaving;
    expect(socket.rooms.has('order:later')).toBe(true);
    await keep('order:later', 1);
    await until(() => heard.length === 1);
    expect(heard).toEqual([['second', 1]]);
    await rooms.leave('order:later');
    expect(socket.rooms.has('order:later')).toBe(false);
  },
);

test('joining waits for a connection that is still to come, however long that takes', async () => {
  await keep('order:3', 1);
  const client = clientOf({ autoConnect: false });
  const rooms = new Helper<Events>(client);
  let isSettled = false;
  const joining = rooms.join('order:3', { last: 1 }).finally(() => {
    isSettled = true;
  });
  // Leaving needs no connection, and ends what waits for one.
  const left = rooms.join('order:left');
  expect(await rooms.leave('order:left')).toEqual({ ok: true });
  await expect(left).rejects.toMatchObject({ code: 'LOST' });
  expect(isSettled).toBe(false);
  client.connect();
  const order = await joining;
  const heard: unknown[] = [];
  order.on('n', (number) => heard.push(number));
  await until(() => heard.length === 1);
  await expect(rooms.join('order:secret')).rejects.toMatchObject({ code: 'ROOM_FORBIDDEN' });
  expect([...node.io.of('/').sockets.get(client.id!)!.rooms].slice(1)).toEqual(['order:3']);
});

test('a join ends if the server rejects the connection, and a new one replaces its callbacks', async () => {
  let mayEnter = false;
  node.io.of('/guarded').use((_socket, next) => next(mayEnter ? undefined : new Error('no entry')));
  const guarded = await createDurableRooms<Events>(node.io.of('/guarded'), {
    rooms: 'order:*',
    dataDir,
    mayJoin: () => true,
  });
  const client = connect(`${node.url}/guarded`, { forceNew: true, transports: ['websocket'] });
  clients.push(client);
  const rooms = new Helper<Events>(client);
  const heard: unknown[] = [];
  const join = () => rooms.join('order:4', { onMessage: ({ values }) => heard.push(...values) });
  await expect(join()).rejects.toMatchObject({ code: 'LOST', message: expect.stringContaining('no entry') });
  mayEnter = true;
  client.connect();
  await join();
  await guarded.to('order:4').emit('n', 1);
  await guarded.to('order:4').emit('n', 2);
  await until(() => heard.length >= 2);
  expect(heard).toEqual([1, 2]);
  const late = new Helper<Events>(clientOf({ autoConnect: false }));
  const joining = late.join('order:5');
  late.close();
  await expect(joining).rejects.toMatchObject({ code: 'LOST' });
  await guarded.close();
});

test('a listener that comes while the connection is lost gets what was missed once it is back', async () => {
  const { client } = await pairOn(node, { reconnection: true, reconnectionDelay: 10 });
  const order = await new Helper<Events>(client).join('order:6');
  await keep('order:6', 1);
  const lost = nextEvent(client, 'disconnect');
  client.io.engine.close();
  await lost;
  const heard: unknown[] = [];
  order.on('n', (number) => heard.push(number));
  await keep('order:6', 2);
  await until(() => heard.length === 2);
  expect(heard).toEqual([1, 2]);
});

test('rooms of a server without a history hold messages for the first listener, too', async () => {
  node.io.once('connection', (socket) => {
    socket.on('join', (room, reply) => {
      reply({ ok: true, room, members: 1 });
      socket.emit('message', { room, from: 'ada', text: 'Hello' });
      socket.emit('fence');
    });
  });
  const { client } = await pairOn(node);
  const fence = nextEvent(client, 'fence');
  const hall = await new Rooms(client).join('hall');
  await fence;
  const heard: unknown[] = [];
  hall.on('message', ({ text }) => heard.push(text));
  await until(() => heard.length === 1);
  expect(heard).toEqual(['Hello']);
});

/** Names what the helper says of losses, in order. */
function completesOf(told: boolean[]) {
  return { onRecovered: ({ complete }: { complete: boolean }) => told.push(complete) };
}

test.each([
  ['whose tag nobody has', { offset: 2, tag: 2 ** 52 }],
  ['before the first message, whose tag nobody has', { offset: 0, tag: 2 ** 52 }],
  ['beyond the end', { offset: 50, tag: 2 ** 52 }],
  ['beyond the end, without a tag', { offset: 50 }],
])('a reader with a position %s is told, and gets what follows', async (name, position) => {
  const room = `order:ahead ${name}`;
  await keep(room, 1, 2, 3);
  const { client } = await pairOn(node);
  const told: boolean[] = [];
  const heard: number[] = [];
  const order = await new Helper<Events>(client).join(room, { position: position as never, ...completesOf(told) });
  order.on('n', (number) => heard.push(number));
  await until(() => told.length === 1);
  await keep(room, 4, 5);
  await until(() => heard.length === 2);
  client.disconnect().connect();
  await keep(room, 6);
  await until(() => heard.length === 3);
  expect(heard).toEqual([4, 5, 6]);
  expect(told[0]).toBe(false);
  expect(told.slice(1)).not.toContain(false);
});

test('a reader gets each message once where a clock was ahead before a loss, also if what was lost returns', async () => {
  const other = await startNode(alone);
  const tagsUntil: (() => void)[] = [];
  const open = async (folder: string, newest: number) => {
    const tags = { newest };
    tagsUntil.push(replaceTags(() => tags));
    return createDurableRooms<Events>(other.io, { rooms: 'order:*', dataDir: folder, mayJoin: () => true });
  };
  const first = temporaryFolder();
  let rooms = await open(first, 2 ** 52);
  try {
    const { client } = await pairOn(other);
    const told: boolean[] = [];
    const heard: number[] = [];
    const order = await new Helper<Events>(client).join('order:1', { last: 9, ...completesOf(told) });
    order.on('n', (number) => heard.push(number));
    const returnWith = async (folder: string) => {
      await rooms.close();
      client.disconnect();
      rooms = await open(folder, 0);
      const count = told.length;
      client.connect();
      await until(() => told.length > count);
    };
    for (const number of [1, 2, 3]) await rooms.to('order:1').emit('n', number);
    await until(() => heard.length === 3);
    await returnWith(temporaryFolder());
    expect(told.at(-1)).toBe(false);
    for (const number of [4, 5]) await rooms.to('order:1').emit('n', number);
    await until(() => heard.length === 5);
    await returnWith(first);
    await rooms.to('order:1').emit('n', 6);
    await until(() => heard.length === 6);
    expect(heard).toEqual([1, 2, 3, 4, 5, 6]);
  } finally {
    for (const end of tagsUntil) end();
    await rooms.close();
    await other.close();
  }
});

test('what is no position and no query is rejected', async () => {
  const { client } = await pairOn(node);
  const rooms = new Helper(client);
  for (const position of [3, 'x', [], {}, { offset: -1 }, { offset: 1, tag: 'x' }]) {
    await expect(rooms.join('order:1', { position: position as never })).rejects.toMatchObject({ code: 'BAD_PAGE' });
  }
  await expect(durable.read('order:1', null as never)).rejects.toMatchObject({ code: 'BAD_PAGE' });
});
