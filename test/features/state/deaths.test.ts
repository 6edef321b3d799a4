import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { io, type Socket } from 'socket.io-client';
import { until } from '../../support/until.js';
import { Machine, type Worker } from './support/machine/machine.js';
import { View } from './support/view.js';
import '../../support/long.js';

let machine: Machine;
const clients: Socket[] = [];

beforeEach(async () => {
  machine = new Machine();
  await machine.startHub();
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  await machine.remove();
});

/** A client that joins with a version. */
async function member({ url }: Worker, version?: string, onValue?: (key: string, value: unknown) => void) {
  const client = io(url, { forceNew: true, transports: ['websocket'], reconnection: false });
  clients.push(client);
  const view = new View(client, 'quote', onValue);
  await client.emitWithAck('watch', { version });
  await view.shows(() => true);
  return view;
}

async function haveSame(workers: readonly Worker[], expected: Record<string, unknown>): Promise<void> {
  for (const worker of workers) {
    await until(async () => JSON.stringify(sorted(await worker.state())) === JSON.stringify(sorted(expected)));
  }
}

const sorted = (state: Record<string, unknown>) =>
  Object.entries(state).sort(([one], [other]) => (one < other ? -1 : 1));

test('members of a worker that was killed get only what has changed since, from the others', async () => {
  const owner = await machine.start();
  const [one, two] = [await machine.start(), await machine.start()];
  for (let key = 0; key < 50; key++) await owner.call('set', `k${key}`, key);
  await owner.call('delete', 'k7');
  const view = await member(owner);
  await view.shows(({ k49, k7 }) => k49 === 49 && k7 === undefined);
  await owner.call('set', 'k0', 'last');
  await view.shows(({ k0 }) => k0 === 'last');
  const state = { ...view.state };
  await haveSame([one, two], state);
  await owner.stop();
  await one.call('set', 'k1', 'new');
  const again = await member(two, view.version);
  await again.shows(({ k1 }) => k1 === 'new');
  expect(again.messages.filter(([, meta]) => meta.snapshot)).toEqual([]);
  expect(again.map.size).toBeLessThan(10);
  await haveSame([one, two], { ...state, k1: 'new' });
  const late = await machine.start();
  await haveSame([late], { ...state, k1: 'new' });
  await late.call('set', 'k0', 'late');
  await haveSame([one, two, late], { ...state, k0: 'late', k1: 'new' });
}, 120_000);

test('a worker that was taken for gone does not bring back what was deleted meanwhile', async () => {
  const [one, two] = [await machine.start(), await machine.start()];
  await one.call('set', 'kept', 1);
  await one.call('set', 'gone', 1);
  await haveSame([two], { kept: 1, gone: 1 });
  one.signal('SIGSTOP');
  await two.call('delete', 'gone');
  // More deletions than are remembered, also of a silent worker.
  for (let key = 0; key < 4100; key++) {
    await two.call('set', `k${key}`, 1);
    await two.call('delete', `k${key}`);
  }
  await two.call('set', 'kept', 2);
  one.signal('SIGCONT');
  await one.call('set', 'fresh', 1);
  await haveSame([one, two], { kept: 2, fresh: 1 });
}, 120_000);

test('keys go with the worker that owns them, and survive hubs that are killed', async () => {
  const [one, two] = [await machine.start(), await machine.start()];
  const owned = { owned: true };
  await one.call('set', 'one', 1, owned);
  await one.call('set', 'shared', 1, owned);
  await one.call('set', 'given away', 1, owned);
  await two.call('set', 'two', 2, owned);
  await two.call('set', 'kept', 3);
  await haveSame([one, two], { one: 1, two: 2, shared: 1, 'given away': 1, kept: 3 });
  await two.call('set', 'shared', 2, owned);
  await two.call('set', 'given away', 2);
  await machine.killHub();
  await one.call('set', 'meanwhile', 4, owned);
  await machine.startHub();
  const all = { one: 1, two: 2, shared: 2, 'given away': 2, kept: 3, meanwhile: 4 };
  await haveSame([one, two], all);
  // A worker that starts now, as in a reload, has them too, and none of them is its own.
  const three = await machine.start();
  await haveSame([three], all);
  await three.stop();
  await one.stop();
  await haveSame([two], { two: 2, shared: 2, 'given away': 2, kept: 3 });
  // The hub and a worker die together: the next hub does not have its keys.
  const four = await machine.start();
  await four.call('set', 'four', 4, owned);
  await haveSame([two], { two: 2, shared: 2, 'given away': 2, kept: 3, four: 4 });
  await machine.killHub();
  await four.stop();
  await machine.startHub();
  await haveSame([two], { two: 2, shared: 2, 'given away': 2, kept: 3 });
}, 120_000);

test('a hub that is killed loses nothing, and no client goes back', async () => {
  const [one, two] = [await machine.start(), await machine.start()];
  const newest = new Map<string, number>();
  const back: string[] = [];
  const view = await member(two, undefined, (key, value) => {
    if ((value as number) < (newest.get(key) ?? 0)) back.push(key);
    newest.set(key, value as number);
  });
  for (let round = 1; round <= 60; round++) {
    await one.call('set', 'of one', round);
    await two.call('set', 'of two', round);
    await one.call('set', `k${round % 7}`, round);
    if (round % 20 !== 10) continue;
    await machine.killHub();
    await one.call('set', 'meanwhile', round);
    await two.call('delete', 'k1');
    await machine.startHub();
  }
  const expected = { 'of one': 60, 'of two': 60, meanwhile: 50 };
  await until(async () => {
    const states = await Promise.all([one.state(), two.state()]);
    return states.every((state) => Object.entries(expected).every(([key, value]) => state[key] === value));
  });
  await view.shows((state) => state['of one'] === 60 && state['of two'] === 60 && state.meanwhile === 50);
  await haveSame([two], await one.state());
  await view.shows((state) => JSON.stringify(sorted(state)) === JSON.stringify(sorted(view.state)));
  expect(back).toEqual([]);
  // A worker that starts now has the same.
  const three = await machine.start();
  await haveSame([three], await one.state());
});
