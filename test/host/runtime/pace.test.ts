import { expect, test } from '@jest/globals';
import { Pace } from '../../../src/host/runtime/lifecycle/pace.js';

/** Moves a number of clients, of which `alone` ms are the same for all, and `each` are those of each. Returns the last sizes. */
function sizesWith(alone: number, each: number, turns = 200): number[] {
  const pace = new Pace();
  return Array.from({ length: turns }, () => {
    const { size } = pace;
    pace.next(size, alone + each * size);
    return size;
  }).slice(-50);
}

const mean = (numbers: number[]) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

test('clients do not wait for one another for long', () => {
  const sizes = sizesWith(1, 1);
  expect(Math.max(...sizes)).toBeLessThan(20);
  expect(mean(sizes)).toBeGreaterThan(8);
});

test('on a busy machine, few are on their way', () => {
  expect(mean(sizesWith(10, 20))).toBeLessThan(2);
});

test('what each waits for by itself, such as a database, does not slow the others down', () => {
  expect(mean(sizesWith(200, 0.1))).toBeGreaterThan(30);
});

test('the first one, for which code is compiled, does not count for long', () => {
  const pace = new Pace();
  pace.next(1, 100);
  for (let turn = 0; turn < 50; turn++) pace.next(pace.size, 1 + pace.size);
  expect(pace.size).toBeLessThan(20);
});

test('a batch that was not full tells nothing of a larger one', () => {
  const pace = new Pace();
  pace.next(1, 1);
  expect(pace.size).toBe(2);
  for (let turn = 0; turn < 50; turn++) pace.next(1, 1);
  expect(pace.size).toBe(2);
});
