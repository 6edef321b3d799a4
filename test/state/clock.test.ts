import { expect, test } from '@jest/globals';
import { HybridClock, preciseTime } from '../../src/state/clock.js';

/** Less than what a request and its answer take. */
const BETWEEN_MS = 0.3;

function pass(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test('a change after the answer to another one is later, on another worker and in the same millisecond', () => {
  const [one, two] = [new HybridClock(preciseTime()), new HybridClock()];
  for (let turn = 0; turn < 300; turn++) {
    // As a worker that removes a room makes several ticks.
    for (let tick = 0; tick < 20; tick++) one.tick();
    const removed = one.tick();
    pass(BETWEEN_MS);
    expect(two.tick()).toBeGreaterThan(removed);
  }
});

test('the time with fractions stays with the time of day', () => {
  const time = preciseTime();
  for (let turn = 0; turn < 1000; turn++) {
    const before = Date.now();
    const now = time();
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(Date.now() + 1);
  }
});
