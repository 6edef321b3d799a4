import { expect, test } from '@jest/globals';
import { HybridClock, preciseTime } from '../../src/state/version.js';
import { busyFor } from '../support/until.js';

/** Less than what a request and its answer take. */
const BETWEEN_MS = 0.3;

test('a change after the answer to another one is later, on another worker and in the same millisecond', () => {
  const [one, two] = [new HybridClock(preciseTime()), new HybridClock()];
  for (let turn = 0; turn < 300; turn++) {
    // As a worker that removes a room makes several ticks.
    for (let tick = 0; tick < 20; tick++) one.tick();
    const removed = one.tick();
    busyFor(BETWEEN_MS);
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

/** The clocks of a process that has to wait now and then, and the true time. */
function busyClocks(wait: () => number) {
  let time = 1_800_000_000_000.4;
  const read = () => {
    time += 0.001 + wait();
    return time;
  };
  return { clocks: { day: () => Math.floor(read()), precise: () => read() - 1_800_000_000_000 }, at: () => time };
}

test('the time with fractions stays exact on a worker that gets no CPU for a while, at any moment', () => {
  let reads = 0;
  const waits = [5, 0.7, 0.2, 3];
  const { clocks, at } = busyClocks(() => (++reads % 997 === 0 ? waits[reads % waits.length]! : 0));
  const time = preciseTime(clocks);
  const wrong: number[] = [];
  for (let turn = 0; turn < 10_000; turn++) {
    const [before, now] = [at(), time()];
    if (now < before - 0.1 || now > at() + 0.1) wrong.push(now - before);
  }
  expect(wrong).toEqual([]);
});
