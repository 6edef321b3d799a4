import { expect, test } from '@jest/globals';
import { Waiters } from '../../../src/state/replication/waiters.js';

const waiters = () => new Waiters(() => new Promise(() => {}));

test('a client that has left waits no more, and is told nothing', () => {
  const all = waiters();
  const told: string[] = [];
  let isThere = true;
  let isOpen = true;
  const standing = () => (isOpen ? ('open' as const) : ('reached' as const));
  all.add(
    standing,
    () => isThere,
    () => told.push('left'),
  );
  all.add(
    standing,
    () => true,
    () => told.push('stayed'),
  );
  isThere = false;
  all.check();
  isOpen = false;
  all.check();
  expect(told).toEqual(['stayed']);
  all.close();
});

test('only so many clients wait, and further ones get a snapshot at once', () => {
  const all = waiters();
  const told: boolean[] = [];
  for (let count = 0; count < 10_100; count++)
    all.add(
      () => 'open',
      () => true,
      (isReached) => told.push(isReached),
    );
  expect(told).toEqual(new Array(100).fill(false));
  all.close();
  expect(told).toHaveLength(10_100);
});
