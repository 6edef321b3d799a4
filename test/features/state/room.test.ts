import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Adapter } from 'socket.io-adapter';
import * as msgpack from 'socket.io-msgpack-parser';
import { GjallarError } from '../../../src/base/errors.js';
import { featureFigures } from '../../../src/base/figures.js';
import type { Session } from '../../../src/engine/session/session.js';
import { Entries } from '../../../src/features/state/entries.js';
import { createStateRoom, type StateRoom, type StateRoomOptions } from '../../../src/features/state/index.js';
import { openRooms } from '../../../src/features/state/open-rooms.js';
import { disconnectAll, type Pair, pairOn } from '../../io/rooms/support/clients.js';
import { type NodeOptions, startNode, type TestNode } from '../../io/rooms/support/node.js';
import { stopwatch } from '../../support/until.js';
import { View } from './support/view.js';

let node: TestNode;
let room: StateRoom;

const start = async (options: StateRoomOptions = {}, nodeOptions: NodeOptions = {}) => {
  node = await startNode((nsp) => new Adapter(nsp), nodeOptions);
  room = createStateRoom(node.io, 'quotes', { event: 'quote', ...options });
};

afterEach(async () => {
  room.close();
  disconnectAll();
  await node.close();
});

async function member(options: Parameters<StateRoom['join']>[1] = {}, pairOptions: Parameters<typeof pairOn>[1] = {}) {
  const pair = await pairOn(node, pairOptions);
  const view = new View(pair.client, 'quote');
  room.join(pair.socket, options);
  return { ...pair, view };
}

/** Stops a client from reading. */
function pause({ client }: Pick<Pair, 'client'>): { resume(): void } {
  const { ws } = client.io.engine.transport as unknown as { ws: { _socket: { pause(): void; resume(): void } } };
  ws._socket.pause();
  return ws._socket;
}

const waits = ({ socket }: Pick<Pair, 'socket'>) => (socket.conn as unknown as Session).bufferedAmount;
const turn = () => new Promise((resolve) => setImmediate(resolve));
const code = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    return (error as GjallarError).code;
  }
  return 'nothing thrown';
};

describe('a member', () => {
  beforeEach(() => start());

  test('gets a snapshot, and then changes, each key once per window', async () => {
    room.set('a', 1);
    room.set('b', { x: [1] });
    room.set('gone', 1);
    room.delete('gone');
    const { view } = await member();
    await view.shows(({ b }) => b !== undefined);
    expect(view.messages[0]).toEqual([
      [
        ['a', 1],
        ['b', { x: [1] }],
      ],
      { version: expect.any(String), snapshot: true },
    ]);
    for (let value = 0; value < 10; value++) room.set('a', value);
    room.set('c', null);
    room.delete('b');
    await view.shows(({ a }) => a === 9);
    expect(view.messages.slice(1)).toEqual([[[['a', 9], ['c', null], ['b']], { version: expect.any(String) }]]);
    expect(room.stats()).toMatchObject({ keys: 2, members: 1, behind: 0, conflated: 9 });
  });

  test('can continue from each message of a long snapshot', async () => {
    const text = 'x'.repeat(10_000);
    for (let key = 10; key < 30; key++) room.set(`k${key}`, text);
    const { view } = await member();
    await view.shows(({ k29 }) => k29 !== undefined);
    expect(view.messages.length).toBeGreaterThan(2);
    for (const [at, [, { version }]] of view.messages.slice(0, -1).entries()) {
      expect(version).not.toBe('');
      const { view: again } = await member({ version });
      for (const [key] of view.messages.slice(0, at + 1).flatMap(([changes]) => changes)) again.map.set(key, text);
      await again.shows(({ k29 }) => k29 !== undefined);
      expect(again.state).toEqual(view.state);
      expect(again.messages.filter(([, meta]) => meta.snapshot)).toEqual([]);
    }
  });

  test('is told that its snapshot is not complete while the new value of a key is not published yet', async () => {
    room.set('a', 1);
    const { view: first } = await member();
    await first.shows(({ a }) => a === 1);
    const { socket, client } = await pairOn(node);
    const view = new View(client, 'quote');
    room.join(socket);
    room.set('a', 2);
    await view.shows(({ a }) => a === 2);
    const version = expect.any(String);
    expect(view.messages).toEqual([
      [[], { version, snapshot: true, more: true }],
      [[['a', 2]], { version }],
    ]);
  });

  test('gets bytes, and JSON beside them', async () => {
    const bytes = Buffer.from([1, 2, 3]);
    room.set('json', { x: 1 });
    room.set('bytes', bytes);
    bytes[0] = 9;
    const { view } = await member();
    await view.shows((state) => state.bytes !== undefined);
    expect(view.state).toEqual({ bytes: Buffer.from([1, 2, 3]), json: { x: 1 } });
    room.set('bytes', new Uint8Array([7]));
    await view.shows((state) => (state.bytes as Buffer).length === 1);
    expect(room.get('bytes')).toEqual(Buffer.from([7]));
  });

  test('gets nothing more once it has left', async () => {
    const { view, socket, client } = await member();
    const other = await member();
    await view.shows(() => true);
    await other.view.shows(() => true);
    room.set('a', 1);
    await view.shows(({ a }) => a === 1);
    room.leave(socket);
    room.set('a', 2);
    await other.view.shows(({ a }) => a === 2);
    const fence = new Promise((resolve) => client.once('fence', resolve));
    socket.emit('fence');
    await fence;
    expect(view.state).toEqual({ a: 1 });
    room.join(socket);
    await view.shows(({ a }) => a === 2);
    expect(room.stats().members).toBe(2);
  });

  test('that is gone is no member any more', async () => {
    const { socket, view, client } = await member();
    await view.shows(() => true);
    const gone = new Promise((resolve) => socket.once('disconnect', resolve));
    client.disconnect();
    await gone;
    expect(room.stats().members).toBe(0);
    room.join(socket);
    expect(room.stats().members).toBe(0);
  });

  test('has one listener for its end, however many rooms it joins', async () => {
    const warnings: Error[] = [];
    const warn = (warning: Error) => warnings.push(warning);
    process.on('warning', warn);
    const { socket, client } = await member();
    const listeners = socket.listenerCount('disconnect');
    for (let life = 0; life < 20; life++) {
      const closed = createStateRoom(node.io, 'closed');
      closed.join(socket);
      closed.close();
    }
    const rooms = Array.from({ length: 20 }, (_, number) => createStateRoom(node.io, `room ${number}`));
    for (const each of rooms) {
      each.join(socket);
      each.leave(socket);
      each.join(socket);
    }
    await turn();
    process.off('warning', warn);
    expect(warnings).toEqual([]);
    expect(socket.listenerCount('disconnect')).toBe(listeners);
    const gone = new Promise((resolve) => socket.once('disconnect', resolve));
    client.disconnect();
    await gone;
    for (const each of [room, ...rooms]) expect(each.stats().members).toBe(0);
    for (const each of rooms) each.close();
  });

  test('with its version gets only what has changed since', async () => {
    for (const key of ['a', 'b', 'c', 'd']) room.set(key, 1);
    const { view } = await member();
    await view.shows(({ d }) => d === 1);
    room.set('b', 2);
    room.delete('c');
    const again = await member({ version: view.version });
    await again.view.shows(() => true);
    expect(again.view.messages).toEqual([[[['b', 2], ['c']], { version: expect.any(String) }]]);
  });

  test('has the pace that it asks for', async () => {
    const elapsed = stopwatch();
    const { view } = await member({ maxRate: 20 });
    await view.shows(() => true);
    const times: number[] = [];
    for (let value = 0; value < 4; value++) {
      for (let part = 0; part < 10; part++) {
        room.set('a', `${value}.${part}`);
        await turn();
      }
      await view.shows(({ a }) => a === `${value}.9`);
      times.push(elapsed());
    }
    expect(times[3]! - times[0]!).toBeGreaterThanOrEqual(100);
    // A snapshot, and one message in 50 ms, however long the machine takes for the changes.
    expect(view.messages.length).toBeLessThanOrEqual(2 + times[3]! / 50);
    const socket = node.io.sockets.sockets.values().next().value!;
    for (const maxRate of [0, -1, 1001, Number.NaN, 'x', [5], {}, null]) {
      expect(room.join(socket, { maxRate } as never)).toMatchObject({ ok: false, code: 'BAD_INPUT' });
    }
    // A client may send anything.
    for (const options of [null, undefined, 0, 'x', [], () => {}]) {
      expect(room.join(socket, options as never)).toMatchObject({ ok: true, event: 'quote' });
    }
  });
});

test('in one process, a change is applied once', async () => {
  await start();
  const { view } = await member();
  const put = jest.spyOn(Entries.prototype, 'put');
  room.set('a', 1);
  expect(await room.compareAndSet('a', 1, 2)).toBe(true);
  await view.shows(({ a }) => a === 2);
  expect(put).toHaveBeenCalledTimes(2);
  put.mockRestore();
  expect(room.stats()).toMatchObject({ keys: 1, changes: 2, bytes: 2 });
});

test('every parser carries a state room', async () => {
  await start({}, { server: { parser: msgpack } });
  room.set('a', { x: Buffer.from([1]).length });
  const { view } = await member({}, { parser: msgpack });
  await view.shows(() => true);
  room.set('b', Buffer.from([2]));
  await view.shows(({ b }) => b !== undefined);
  expect(view.state).toEqual({ a: { x: 1 }, b: Buffer.from([2]) });
});

test('a room in another namespace, beside one of the same name', async () => {
  await start();
  const other = createStateRoom(node.io.of('/prices'), 'quotes', { event: 'quote' });
  const pair = await pairOn(node, { namespace: '/prices' });
  const view = new View(pair.client, 'quote');
  other.join(pair.socket);
  room.set('a', 'main');
  other.set('a', 'prices');
  await view.shows(({ a }) => a !== undefined);
  expect(view.state).toEqual({ a: 'prices' });
  expect(code(() => createStateRoom(node.io, 'quotes'))).toBe('BAD_INPUT');
  other.close();
  createStateRoom(node.io.of('/prices'), 'quotes').close();
});

describe('a client that is slow', () => {
  const LIMIT = 1_000_000;
  const text = 'x'.repeat(20_000);

  test.each(['websocket', 'polling'])('on %s is never closed, and never sees an older value', async (transport) => {
    await start({}, { engine: { maxBackpressure: LIMIT } });
    const slow = await member({}, { transports: [transport] });
    const fast = await member();
    await slow.view.shows(() => true);
    await fast.view.shows(() => true);
    const seen = new Map<string, number>();
    slow.client.on('quote', (changes: [string, [number]][]) => {
      for (const [key, value] of changes) {
        if (value) expect(value[0]).toBeGreaterThan(seen.get(key) ?? -1);
        if (value) seen.set(key, value[0]);
      }
    });
    const reading = transport === 'websocket' ? pause(slow) : undefined;
    let largest = 0;
    const ROUNDS = 600;
    for (let round = 0; round < ROUNDS; round++) {
      for (let key = 0; key < 3; key++) room.set(`k${key}`, [round, text]);
      if (round === 300) room.set('gone', [1]);
      if (round === 310) room.delete('gone');
      await turn();
      await turn();
      largest = Math.max(largest, waits(slow));
    }
    if (reading) {
      expect(room.stats()).toMatchObject({ members: 2, behind: 1 });
      // It has stopped reading: state alone is bounded far below what closes it.
      expect(largest).toBeLessThan(LIMIT / 2);
      reading.resume();
    }
    const last = ({ k2 }: Record<string, unknown>) => (k2 as [number] | undefined)?.[0] === ROUNDS - 1;
    await slow.view.shows(last);
    await fast.view.shows(last);
    expect(slow.view.state).toEqual(Object.fromEntries([...room.entries()].sort()));
    expect(slow.client.connected).toBe(true);
    if (reading) expect(slow.view.messages.length).toBeLessThan(fast.view.messages.length);
    // It is live again.
    room.set('k0', [ROUNDS, '']);
    await slow.view.shows(({ k0 }) => (k0 as [number])[0] === ROUNDS);
    expect(room.stats()).toMatchObject({ members: 2, behind: 0 });
    expect(node.engine.counters.closed['slow client']).toBe(0);
  });

  test('gets a snapshot again once deleted keys that it knows are forgotten', async () => {
    await start({ maxKeys: 5 }, { engine: { maxBackpressure: LIMIT } });
    const slow = await member();
    await slow.view.shows(() => true);
    room.set('old', 1);
    await slow.view.shows(({ old }) => old === 1);
    const reading = pause(slow);
    while (room.stats().behind === 0) {
      room.set('big', text);
      await turn();
    }
    room.delete('old');
    for (let number = 0; number < 10; number++) {
      room.set(`k${number}`, 1);
      room.delete(`k${number}`);
    }
    reading.resume();
    room.set('end', 1);
    await slow.view.shows(({ end }) => end === 1);
    expect(slow.view.state).toEqual({ big: text, end: 1 });
    expect(slow.view.messages.filter(([, meta]) => meta.snapshot)).toHaveLength(2);
  });
});

describe('bounds', () => {
  beforeEach(() => start({ maxKeys: 2, maxBytes: 100 }));

  test('give the publisher a clear error, and change nothing', async () => {
    room.set('a', 1);
    room.set('b', 2);
    expect(code(() => room.set('c', 3))).toBe('STATE_FULL');
    expect(code(() => room.patch('c', { x: 1 }))).toBe('STATE_FULL');
    expect(code(() => room.set('b', 'x'.repeat(1_000_000)))).toBe('BAD_STATE_VALUE');
    // In a packet with the bytes of another key, it would stand for them.
    expect(code(() => room.set('b', { _placeholder: true, num: 0 }))).toBe('BAD_STATE_VALUE');
    room.set('a', 'x'.repeat(50));
    expect(code(() => room.set('b', 'x'.repeat(50)))).toBe('STATE_FULL');
    for (const key of ['', 'x'.repeat(257), 'é'.repeat(129), '\ud800', 5, undefined]) {
      expect(code(() => room.set(key as string, 1))).toBe('BAD_STATE_KEY');
    }
    const ring: unknown[] = [];
    ring.push(ring);
    for (const value of [undefined, () => {}, ring, 1n])
      expect(code(() => room.set('b', value))).toBe('BAD_STATE_VALUE');
    expect(code(() => room.patch('a', { x: 1 }))).toBe('BAD_STATE_VALUE');
    expect(Object.fromEntries(room.entries())).toEqual({ b: 2, a: 'x'.repeat(50) });
    room.delete('a');
    room.patch('c', { x: 1 });
    room.patch('c', { y: 2 });
    expect(room.get('c')).toEqual({ x: 1, y: 2 });
    expect(room.stats()).toMatchObject({ keys: 2, bytes: 2 + 'c{"x":1,"y":2}'.length });
  });

  test('are near when nine tenths of one are in use, for the metrics too', () => {
    const read = () => Object.fromEntries(featureFigures.read().map(([name, , value]) => [name, value]));
    expect(openRooms.warning).toBeUndefined();
    room.set('a', 'x'.repeat(30));
    room.set('a', 'x'.repeat(40));
    expect(room.fullness).toBe(0.5);
    expect(openRooms.warning).toBeUndefined();
    room.set('b', 'x'.repeat(50));
    expect(room.fullness).toBe(1);
    expect(openRooms.warning).toBe(
      'the state room "quotes" is nearly full: beyond its bounds, set() throws STATE_FULL',
    );
    const { gjallar_state_changes_total: changes } = read();
    expect(changes).toBeGreaterThanOrEqual(2);
    expect(read()).toMatchObject({
      ...{ gjallar_state_bytes: 96, gjallar_state_fullness_ratio: 1 },
      ...{ gjallar_state_members: 0, gjallar_state_members_behind_long: 0 },
    });
    room.close();
    expect(read()).toMatchObject({ gjallar_state_bytes: 0, gjallar_state_changes_total: changes });
    expect(read().gjallar_state_fullness_ratio).toBeUndefined();
  });

  test.each([{ maxKeys: 0 }, { maxBytes: 1.5 }, { event: '' }, { mayJoin: true }, { maxRate: 'fast' }])(
    '%p are no options',
    (options) => {
      expect(() => createStateRoom(node.io, 'other', options as never)).toThrow(GjallarError);
    },
  );
});
