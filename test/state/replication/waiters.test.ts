import { expect, test } from '@jest/globals';
import { Waiters } from '../../../src/state/replication/opening.js';
import { TestClock } from '../../engine/support/clock.js';

const waiters = (clock = new TestClock()) => new Waiters(() => new Promise(() => {}), clock);

test('a client that has left waits no more, and is told nothing', () => {
  const clock = new TestClock();
  const all = waiters(clock);
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
  clock.advance(20);
  expect(told).toEqual(['stayed']);
  all.close();
});

test('only so many clients wait, and further ones get a snapshot at once', () => {
  const all = waiters();
  const told: boolean[] = [];
  for (let count = 0; count < 1100; count++)
    all.add(
      () => 'open',
      () => true,
      (isReached) => told.push(isReached),
    );
  expect(told).toEqual(new Array(100).fill(false));
  all.close();
  expect(told).toHaveLength(1100);
});

test('all who wait are looked at 50 times a second at most, however many messages arrive', () => {
  const clock = new TestClock();
  const all = waiters(clock);
  let looks = 0;
  let isOpen = true;
  const told: boolean[] = [];
  all.add(
    () => {
      looks++;
      return isOpen ? 'open' : 'reached';
    },
    () => true,
    (isReached) => told.push(isReached),
  );
  for (let message = 0; message < 10_000; message++) {
    all.check();
    clock.advance(0.1);
  }
  expect(looks).toBeGreaterThan(40);
  expect(looks).toBeLessThan(60);
  isOpen = false;
  all.check();
  clock.advance(20);
  expect(told).toEqual([true]);
  all.close();
});
