import { expect, test } from '@jest/globals';
import { intervalFor, windowFor } from '../../../src/host/runtime/lifecycle/pace.js';

test('few clients are on their way, while there is time', () => {
  expect(windowFor(2500, 10, 32_000)).toBe(4);
  expect(intervalFor(2500, 32_000)).toBe(4);
});

test('more are, where all would be late otherwise, but never all of them', () => {
  expect(windowFor(2500, 60, 32_000)).toBe(10);
  expect(windowFor(2500, 60, 10)).toBe(16);
  expect(windowFor(2500, 60, -10)).toBe(16);
});

test('they leave as fast as needed', () => {
  expect(intervalFor(10_000, 32_000)).toBe(1.6);
  expect(intervalFor(10, -1)).toBe(0);
  expect(intervalFor(0, 1000)).toBe(4);
});
