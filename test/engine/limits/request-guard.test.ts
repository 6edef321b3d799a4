import { beforeEach, expect, test } from '@jest/globals';
import { RequestGuard } from '../../../src/engine/limits/request-guard.js';
import { TestClock } from '../support/clock.js';

let clock: TestClock;
let guard: RequestGuard;

beforeEach(() => {
  clock = new TestClock();
  guard = new RequestGuard(clock);
});

/** Makes requests in one turn of the event loop. Returns how many of them were let in. */
function requests(address: string, count: number, costMs = 0): number {
  let entered = 0;
  for (let n = 0; n < count; n++) {
    if (!guard.enter(address)) continue;
    entered++;
    clock.stall(costMs);
    guard.leave();
  }
  return entered;
}

test('of one address, a thousand requests are handled in one turn', () => {
  expect(requests('a', 1500)).toBe(1000);
  expect(guard.floods).toBe(500);
  clock.advance(0);
  expect(requests('a', 1000)).toBe(1000);
});

test('of one address, requests are handled for 200 ms in one turn', () => {
  const entered = requests('a', 500, 5);
  // The first 31 are not measured.
  expect(entered).toBe(31 + 41);
  clock.advance(0);
  expect(requests('a', 20, 5)).toBe(20);
});

test('addresses do not count for each other', () => {
  expect(requests('a', 1500)).toBe(1000);
  expect(requests('b', 500)).toBe(500);
});
