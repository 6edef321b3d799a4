import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { GjallarError } from '../../../../src/base/errors.js';
import type { StateRoom } from '../../../../src/features/state/index.js';
import { Machine, startMember, type TestNode } from '../../../io/rooms/support/node.js';
import { until } from '../../../support/until.js';
import { roomOn } from '../support/room-on.js';

let machine: Machine;
const nodes: TestNode[] = [];
let one: StateRoom;
let two: StateRoom;

beforeEach(async () => {
  machine = await Machine.start();
  await machine.startHub('machine0');
  for (let count = 0; count < 2; count++) nodes.push(await startMember(await machine.openBackplane()));
  [one, two] = nodes.map((node) => roomOn(node, 'quotes', { maxKeys: 5 })) as [StateRoom, StateRoom];
  await Promise.all([one.ready(), two.ready()]);
});
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.close();
  await machine.remove();
});

const code = (promise: Promise<unknown>) =>
  promise.then(
    () => 'ok',
    (error: GjallarError) => error.code,
  );

/** More than fits into one page. */
function fill(room: StateRoom): void {
  for (let key = 0; key < 5; key++) room.set(`k${key}`, 'x'.repeat(100_000));
}

test('a worker that has just opened a room has caught up once all of it is here', async () => {
  fill(one);
  await one.caughtUp();
  nodes.push(await startMember(await machine.openBackplane()));
  const late = roomOn(nodes.at(-1)!, 'quotes', { maxKeys: 5 });
  await late.caughtUp();
  expect([...late.keys()]).toEqual(['k0', 'k1', 'k2', 'k3', 'k4']);
});

test('a worker has caught up with the next hub once that has told everything', async () => {
  fill(one);
  await one.caughtUp();
  await two.caughtUp();
  machine.stopHub();
  one.set('k0', 'meanwhile');
  const caughtUp = two.caughtUp();
  await machine.startHub('machine0');
  await caughtUp;
  expect(two.get('k0')).toBe('meanwhile');
});

test('a patch changes fields as RFC 7396 has it', async () => {
  one.set('a', { x: 1, y: { p: 1, q: 2 }, z: [1, 2] });
  await one.patch('a', { x: null, y: { q: null, r: 3 }, z: [3], w: { v: null, u: 1 } });
  expect(one.get('a')).toEqual({ y: { p: 1, r: 3 }, z: [3], w: { u: 1 } });
  await two.caughtUp();
  expect(two.get('a')).toEqual(one.get('a'));
  await one.patch('b', JSON.parse('{"__proto__":{"polluted":1}}'));
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
  await until(() => two.get('b') !== undefined);
  expect(JSON.stringify(two.get('b'))).toBe('{"__proto__":{"polluted":1}}');
});

test('a patch keeps what another worker has set at the same time, or says why it cannot', async () => {
  one.set('a', { x: 1 });
  await two.caughtUp();
  await Promise.all([one.patch('a', { y: 2 }), two.patch('a', { z: 3 })]);
  await Promise.all([one.caughtUp(), two.caughtUp()]);
  for (const room of [one, two]) expect(room.get('a')).toEqual({ x: 1, y: 2, z: 3 });
  two.set('a', 5);
  await two.caughtUp();
  // The other worker may know it or not.
  expect(await code((async () => one.patch('a', { y: 4 }))())).toBe('BAD_STATE_VALUE');
  await one.caughtUp();
  expect(one.get('a')).toBe(5);
});

test('compareAndSet sets a key that has the expected value, as JSON', async () => {
  expect(await one.compareAndSet('a', undefined, { x: 1, y: [2] })).toBe(true);
  expect(await two.compareAndSet('a', undefined, 2)).toBe(false);
  expect(await two.compareAndSet('a', { y: [2], x: 1 }, { x: 2 })).toBe(true);
  expect(await one.compareAndSet('a', { x: 1, y: [2] }, 3)).toBe(false);
  expect(one.get('a')).toEqual({ x: 2 });
  expect(await one.compareAndSet('a', { x: 2 }, Buffer.from([1]))).toBe(true);
  expect(await one.compareAndSet('a', [1], 4)).toBe(false);
  expect(await one.compareAndSet('a', Buffer.from([1]), undefined)).toBe(true);
  expect(one.get('a')).toBeUndefined();
  expect(await one.compareAndSet('a', undefined, undefined)).toBe(true);
  one.set('large', 'x'.repeat(70_000));
  expect(await one.compareAndSet('large', 'x'.repeat(70_000), 1)).toBe(true);
  one.set('large', 'x'.repeat(70_000));
  expect(await code(one.compareAndSet('large', 'y', 1))).toBe('STATE_PATCH_SIZE');
  expect(await code(one.compareAndSet('', 1, 1))).toBe('BAD_STATE_KEY');
  expect(await code(one.compareAndSet('a', () => {}, 1))).toBe('BAD_STATE_VALUE');
});

test('bounds hold at the hub for what it computes', async () => {
  for (let key = 0; key < 5; key++) one.set(`k${key}`, key);
  await one.caughtUp();
  const both = await Promise.all(
    [code(two.compareAndSet('new', undefined, 1)), code(two.patch('k0', {}))].map((p) => p),
  );
  expect(both[0]).toBe('STATE_FULL');
  expect(two.size).toBe(5);
});

test('a key with a ttl is deleted when its time is over, unless it is set again', async () => {
  one.set('short', 1, { ttl: 200 });
  one.set('kept', 1, { ttl: 200 });
  one.set('patched', { a: 1 }, { ttl: 200 });
  one.set('kept', 2);
  await one.patch('patched', { b: 1 });
  await two.caughtUp();
  expect([...two.keys()].sort()).toEqual(['kept', 'patched', 'short']);
  await until(() => two.size === 1 && one.size === 1);
  expect([one.get('kept'), two.get('kept')]).toEqual([2, 2]);
  for (const ttl of [0, -1, Number.NaN, 'x', 1e300]) {
    expect(() => one.set('kept', 3, { ttl: ttl as number })).toThrow('ttl must be');
  }
});
