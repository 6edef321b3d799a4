import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { GjallarError } from '../../../src/base/errors.js';
import { createStateRoom } from '../../../src/features/state/index.js';
import type { LocalStateRoom as StateRoom } from '../../../src/features/state/room.js';
import { encodeValue } from '../../../src/features/state/values.js';
import { admitWatcher } from '../../../src/service/chat/state/plain.js';
import { type StateLimits, StateRooms } from '../../../src/service/chat/state/rooms.js';
import { SocketWatchers } from '../../../src/service/chat/state/socket-watchers.js';
import type { Watcher } from '../../../src/service/chat/state/watchers.js';
import { onHubOf } from '../../features/state/support/room-on.js';
import { View } from '../../features/state/support/view.js';
import { disconnectAll, pairOn } from '../../io/rooms/support/clients.js';
import { Machine, startMember, type TestNode } from '../../io/rooms/support/node.js';
import { until } from '../../support/until.js';

let machine: Machine;
const nodes: TestNode[] = [];
let services: StateRooms[] = [];

beforeEach(async () => {
  machine = await Machine.start();
  await machine.startHub('machine0');
});
afterEach(async () => {
  disconnectAll();
  for (const rooms of services.splice(0)) rooms.close();
  for (const node of nodes.splice(0)) await node.close();
  await machine.remove();
});

/** The state rooms of this number of workers. */
async function start(workers: number, limits: Partial<StateLimits> = {}): Promise<StateRooms[]> {
  for (let worker = 0; worker < workers; worker++) nodes.push(await startMember(await machine.openBackplane()));
  const all = {
    rooms: 10,
    roomsPerUser: 10,
    keys: 1000,
    bytes: 1_000_000,
    valueBytes: 10_000,
    patchBytes: 5000,
    ...limits,
  };
  services = nodes.map((node) => onHubOf(node, () => new StateRooms(node.io as never, all)));
  await Promise.all(services.map((rooms) => rooms.find('none')));
  return services;
}

const outcome = (result: Promise<unknown>) =>
  result.then(
    () => 'ok',
    ({ code }: GjallarError) => code,
  );
const put = (rooms: StateRooms, name: string, key = 'k', value: unknown = 1) =>
  outcome(rooms.set(name, key, () => encodeValue(value)));

test('at the bound of rooms, the first of two new rooms stays', async () => {
  const [rooms] = await start(2, { rooms: 1 });
  expect(await Promise.all([put(rooms!, 'a'), put(rooms!, 'b')])).toEqual(['ok', 'STATE_FULL']);
  expect((await rooms!.find('a'))?.get('k')).toBe(1);
});

test('at the bound of rooms, workers that create rooms at the same time all get an answer', async () => {
  const [one, two] = await start(2, { rooms: 1 });
  for (let turn = 0; turn < 5; turn++) {
    const outcomes = await Promise.all([put(one!, 'a'), put(two!, 'b'), put(one!, 'c'), put(two!, 'd')]);
    expect(outcomes).toContain('ok');
    for (const each of outcomes) expect(['ok', 'STATE_FULL']).toContain(each);
    for (const name of ['a', 'b', 'c', 'd']) await Promise.all([one!.remove(name), two!.remove(name)]);
  }
});

test('who waits for a room is answered when it is removed meanwhile, or the worker stops', async () => {
  const [one] = await start(2);
  const writing = put(one!, 'a');
  await one!.find('none');
  const finding = outcome(one!.find('a'));
  one!.close();
  expect(await Promise.all([writing, finding])).toEqual(['OVERLOADED', 'ok']);
  expect(await put(one!, 'a')).toBe('OVERLOADED');
});

test('a room that is closed before it has its state is waited for no longer', async () => {
  await start(2);
  const room = createStateRoom(nodes[0]!.io, 'short');
  const ready = room.ready();
  room.close();
  await ready;
  await room.ready();
});

test('a room whose first keys are all rejected does not begin', async () => {
  const [one, two] = await start(2);
  const tooLong = 'x'.repeat(300);
  expect(await Promise.all([put(one!, 'a', tooLong), put(one!, 'a', tooLong)])).toEqual([
    'BAD_STATE_KEY',
    'BAD_STATE_KEY',
  ]);
  expect(await one!.find('a')).toBeUndefined();
  await put(one!, 'fence');
  await until(async () => (await two!.find('fence')) !== undefined);
  expect(await two!.find('a')).toBeUndefined();
  // Nor does it end with a rejected key.
  expect(await Promise.all([put(one!, 'b', tooLong), put(one!, 'b'), put(one!, 'b', tooLong)])).toContain('ok');
  expect((await one!.find('b'))?.get('k')).toBe(1);
  (await one!.find('b'))!.delete('k');
  expect(await put(one!, 'b', tooLong)).toBe('BAD_STATE_KEY');
  expect((await one!.find('b'))?.size).toBe(0);
});

test('bytes bound small keys, and deleted keys that are remembered', async () => {
  const [rooms] = await start(1, { bytes: 100_000 });
  let keys = 0;
  while ((await put(rooms!, 'small', `${keys}`)) === 'ok' && keys < 400) keys++;
  expect(keys).toBeGreaterThan(300);
  expect(keys).toBeLessThan(400);
  expect(await put(rooms!, 'small', '0', 2)).toBe('ok');
  await rooms!.remove('small');
  await until(async () => (await rooms!.find('small')) === undefined);
  const outcomes = new Set<string>();
  for (let key = 0; key < 1000; key++) {
    outcomes.add(await put(rooms!, 'deleted', `${key}`));
    (await rooms!.find('deleted'))!.delete(`${key}`);
  }
  expect(outcomes).toEqual(new Set(['ok', 'STATE_FULL']));
  expect(await put(rooms!, 'deleted', 'new')).toBe('STATE_FULL');
  await rooms!.remove('deleted');
  await until(async () => (await rooms!.find('deleted')) === undefined);
  expect(await put(rooms!, 'deleted', 'new')).toBe('ok');
});

describe('a room with too many members that are behind', () => {
  const format = { name: 'test', prefix: '', encode: () => [] };

  /** A watcher that reads nothing, and so stays behind. */
  class Stuck implements Watcher {
    readonly told: string[] = [];
    leave = () => {};

    enter(room: StateRoom): void {
      this.leave = room.joinReader({ topicSocket: undefined, bufferedAmount: 1e9, send: () => {} }, format);
      this.told.push('enter');
    }

    refuse(_room: StateRoom, { code }: GjallarError): void {
      this.told.push(code);
    }

    empty(): void {
      this.told.push('empty');
    }
  }

  test('tells all whom it does not let in when it is created', async () => {
    const [rooms] = await start(1, { behind: 1 });
    const watchers = [new Stuck(), new Stuck(), new Stuck()];
    for (const watcher of watchers) rooms!.watch('a', watcher);
    expect(await put(rooms!, 'a')).toBe('ok');
    expect(watchers.map(({ told }) => told.at(-1))).toEqual(['enter', 'STATE_BUSY', 'STATE_BUSY']);
  });

  test('does not keep a watcher that it rejects', async () => {
    const [rooms] = await start(1, { behind: 1 });
    await put(rooms!, 'a');
    const [one, two] = [new Stuck(), new Stuck()];
    rooms!.watch('a', one);
    expect(() => rooms!.watch('a', two)).toThrow(expect.objectContaining({ code: 'STATE_BUSY' }));
    await rooms!.remove('a');
    await until(() => one.told.includes('empty'));
    expect(two.told).toEqual([]);
  });

  test('lets a socket in as soon as it can', async () => {
    const [rooms] = await start(1, { behind: 1 });
    const { client, socket } = await pairOn(nodes[0]!);
    const view = new View(client, 'state:a');
    const stuck = new Stuck();
    rooms!.watch('a', stuck);
    new SocketWatchers(rooms!).watch(socket as never, 'a', {});
    await put(rooms!, 'a');
    expect((await rooms!.find('a'))!.stats().members).toBe(1);
    stuck.leave();
    await view.shows(({ k }) => k === 1);
  });

  test('closes a plain WebSocket with the code', async () => {
    const [rooms] = await start(1, { behind: 1 });
    rooms!.watch('a', new Stuck());
    const member = await admitWatcher({ states: { rooms } } as never, 'a', {});
    const refused: string[] = [];
    const client = { topicSocket: undefined, bufferedAmount: 0, send: () => {} };
    await member.enter({ ...client, refuse: (code) => refused.push(code) });
    await put(rooms!, 'a');
    expect(refused).toEqual(['STATE_BUSY']);
  });
});
