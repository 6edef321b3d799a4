import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type StateLimits, StateRooms } from '../../src/chat/state/rooms.js';
import type { GjallarError } from '../../src/errors.js';
import { stateRoom } from '../../src/state/index.js';
import { disconnectAll } from '../rooms/support/clients.js';
import { Machine, startMember, type TestNode } from '../rooms/support/node.js';
import { until } from '../support/until.js';

let machine: Machine;
const nodes: TestNode[] = [];
let services: StateRooms[] = [];

beforeEach(async () => {
  machine = await Machine.start();
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
  const all = { rooms: 10, keys: 1000, bytes: 1_000_000, valueBytes: 10_000, ...limits };
  services = nodes.map(({ io }) => new StateRooms(io as never, all));
  await Promise.all(services.map((rooms) => rooms.find('none')));
  return services;
}

const outcome = (result: Promise<unknown>) =>
  result.then(
    () => 'ok',
    ({ code }: GjallarError) => code,
  );
const put = (rooms: StateRooms, name: string, key = 'k', value: unknown = 1) =>
  outcome(rooms.set(name, key, () => value));

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
  const room = stateRoom(nodes[0]!.io, 'short');
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
