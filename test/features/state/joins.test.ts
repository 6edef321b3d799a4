import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { StateMap } from '../../../public/gjallar-client.js';
import { failures } from '../../../src/base/owner.js';
import { createStateRoom, type StateRoom } from '../../../src/features/state/index.js';
import { alone } from '../../../src/io/server/default-adapter.js';
import { disconnectAll, pairOn } from '../../io/rooms/support/clients.js';
import { startNode, type TestNode } from '../../io/rooms/support/node.js';
import { nextEvent } from '../../support/clients.js';
import { stopwatch, until, whileActing } from '../../support/until.js';

interface Quote {
  bid: number;
  ask?: number;
}

let node: TestNode;
let room: StateRoom<Quote>;
const deciding: { resolve(may: boolean): void; reject(reason: Error): void }[] = [];

beforeEach(async () => {
  node = await startNode(alone);
  const mayJoin = (socket: { handshake: { auth: { may?: unknown } } }) => {
    const { may } = socket.handshake.auth;
    if (may === 'later') return new Promise<boolean>((resolve, reject) => deciding.push({ resolve, reject }));
    return may !== 'no';
  };
  room = createStateRoom<Quote>(node.io, 'quotes', { mayJoin, maxKeys: 100 });
  room.set('AAPL', { bid: 1 });
});

afterEach(async () => {
  jest.restoreAllMocks();
  deciding.length = 0;
  disconnectAll();
  await node.close();
});

test('a client joins by itself, follows the room across connections, and leaves', async () => {
  const { client } = await pairOn(node);
  const map = new StateMap<Quote>(client, 'quotes');
  const changes: string[][] = [];
  const listener = (keys: string[]) => changes.push(keys);
  map.on('change', listener);
  await until(() => map.get('AAPL')?.bid === 1);
  await room.patch('AAPL', { ask: 3 });
  await until(() => map.get('AAPL')?.ask === 3);
  expect(changes).toEqual([['AAPL'], ['AAPL']]);
  client.disconnect();
  room.set('MSFT', { bid: 2 });
  client.connect();
  await until(() => map.size === 2);
  map.off('change', listener);
  // Both maps have one listener each, and the second follows on.
  const other = new StateMap<Quote>(client, 'quotes');
  await until(() => other.size === 2);
  map.close();
  room.delete('MSFT');
  await until(() => other.size === 1);
  expect(map.size).toBe(2);
  expect(changes).toEqual([['AAPL'], ['AAPL'], ['MSFT']]);
  other.close();
  await until(() => room.stats().members === 0);
});

test('the reply names the event of the room, and each client is held to its rate', async () => {
  const fast = createStateRoom<number>(node.io, 'scores', { event: 'score', mayJoin: () => true, maxRate: 1000 / 200 });
  fast.set('home', 0);
  const { client, received } = await pairOn(node);
  // Its rate counts from the moment at which it joins.
  const passed = stopwatch();
  const map = new StateMap<number>(client, 'scores', { maxRate: 900 });
  await until(() => map.get('home') === 0);
  let score = 0;
  await whileActing(
    5,
    () => fast.set('home', ++score),
    until(() => score > 50),
  );
  fast.set('home', -1);
  await until(() => map.get('home') === -1);
  const updates = received.filter(([event]) => event === 'score').length;
  expect(updates).toBeLessThanOrEqual(2 + passed() / 200);
  expect(() => createStateRoom(node.io, 'wrong', { maxRate: 0 })).toThrow('maxRate');
});

test('a client that may not join hears why, and so does a console without a listener', async () => {
  const warn = jest.spyOn(console, 'warn').mockImplementation(() => {});
  const { client } = await pairOn(node, { auth: { may: 'no' } });
  const refused = (name: string) =>
    new Promise((resolve) => new StateMap(client, name).on('error', ({ code }) => resolve(code)));
  expect(await refused('quotes')).toBe('ROOM_FORBIDDEN');
  expect(await refused('unknown')).toBe('BAD_ROOM');
  createStateRoom(node.io, 'closed');
  expect(await refused('closed')).toBe('ROOM_FORBIDDEN');
  expect(warn).not.toHaveBeenCalled();
  new StateMap(client, 'closed');
  await until(() => warn.mock.calls.length > 0);
  expect(warn.mock.calls[0]![0]).toMatch('"closed" rejects this client. ROOM_FORBIDDEN');
  for (const hostile of [undefined, null, 7, 'quotes', { room: { toString: 1 } }, { room: 'quotes', maxRate: 'x' }]) {
    expect(await client.emitWithAck('state:join', hostile)).toMatchObject({ ok: false });
  }
  client.emit('state:join', { room: 'quotes' });
  expect(room.stats().members).toBe(0);
});

test('who leaves before mayJoin has decided does not join, and its errors are not the client’s', async () => {
  const { client } = await pairOn(node, { auth: { may: 'later' } });
  const join = () => client.emitWithAck('state:join', { room: 'quotes' });
  const first = join();
  await until(() => deciding.length === 1);
  await client.emitWithAck('state:leave', 'quotes');
  deciding[0]!.resolve(true);
  expect(await first).toMatchObject({ ok: false });
  expect(room.stats().members).toBe(0);
  const second = join();
  await until(() => deciding.length === 2);
  const reported: unknown[] = [];
  const onFailure = (failure: unknown) => reported.push(failure);
  failures.subscribe(onFailure);
  deciding[1]!.reject(new Error('no database'));
  expect(await second).toMatchObject({ ok: false, code: 'INTERNAL' });
  failures.unsubscribe(onFailure);
  expect(reported).toEqual([{ work: 'letting a client into a state room', error: new Error('no database') }]);
  const third = join();
  await until(() => deciding.length === 3);
  deciding[2]!.resolve(true);
  expect(await third).toEqual({ ok: true, event: 'quotes', keys: 1 });
  expect(room.stats().members).toBe(1);
  // Once the last room of the namespace is closed, nobody answers.
  await room.close();
  expect(node.io.of('/').sockets.get(client.id!)!.listenerCount('state:join')).toBe(0);
});

test('a client that names its namespace like the topic of a room hears nothing of the room', async () => {
  node.io.of(/^\/./);
  const namespace = '/\x1esocket.io\x1equotes';
  const member = await pairOn(node);
  await member.client.emitWithAck('state:join', { room: 'quotes' });
  const packets: unknown[] = [];
  const strangers = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const { client } = await pairOn(node);
      client.io.on('packet', ({ nsp }) => packets.push(nsp));
      const stranger = client.io.socket(namespace);
      await nextEvent(stranger, 'connect');
      return stranger;
    }),
  );
  node.io.of(namespace).emit('to all');
  await until(() => member.received.length === 1);
  room.set('MSFT', { bid: 2 });
  await until(() => member.received.length === 2);
  const fences = strangers.map((stranger) => nextEvent(stranger, 'fence'));
  node.io.of(namespace).emit('fence');
  await Promise.all(fences);
  for (const stranger of strangers) stranger.disconnect();
  // CONNECT, and both events.
  expect(packets).toEqual(Array(9).fill(namespace));
});

test('a room offers its own members, and none of EventEmitter', async () => {
  const changed = new Promise((resolve) => room.once('change', resolve));
  room.set('MSFT', { bid: 2 });
  expect(await changed).toEqual(['AAPL', 'MSFT']);
  expect('emit' in room || 'listeners' in room || 'setMaxListeners' in room).toBe(false);
});
