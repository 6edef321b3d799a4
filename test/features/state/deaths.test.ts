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
async function member({ url }: Worker, version?: string) {
  const client = io(url, { forceNew: true, transports: ['websocket'], reconnection: false });
  clients.push(client);
  const view = new View(client, 'quote');
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
