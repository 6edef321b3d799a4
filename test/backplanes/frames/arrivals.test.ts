import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Backplane } from '../../../src/backplanes/backplane.js';
import { Machine } from '../../rooms/support/node.js';
import { until } from '../../support/until.js';

let machine: Machine;
const open: Backplane[] = [];

beforeEach(async () => {
  machine = await Machine.start();
});

afterEach(async () => {
  for (const backplane of open.splice(0)) await backplane.close();
  await machine.remove();
});

async function join(): Promise<NonNullable<Backplane['places']>> {
  const backplane = await machine.openBackplane();
  open.push(backplane);
  return backplane.places!;
}

test('a key of a worker that has just started is an arrival, like each later one', async () => {
  const first = await join();
  first.enter('doc');
  const arrived: number[] = [];
  first.onArrival = (_worker, hashes) => arrived.push(...hashes);
  // The first client comes before the workers know each other's clocks.
  const second = await join();
  second.enter('doc');
  await until(() => arrived.includes(first.hashOf('doc')));
  arrived.length = 0;
  second.enter('sheet');
  await until(() => arrived.includes(first.hashOf('sheet')));
  expect(arrived).toEqual([first.hashOf('sheet')]);
});
