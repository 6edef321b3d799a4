import { beforeEach, expect, test } from '@jest/globals';
import { type Postponable, RequestGuard } from '../../../src/engine/limits/request-guard.js';
import { TestClock } from '../support/clock.js';

class Exchange implements Postponable {
  finished = false;
  onAborted: (() => void) | undefined;
  isDestroyed = false;

  constructor(readonly connection?: object) {}

  destroy(): void {
    this.isDestroyed = true;
  }
}

let clock: TestClock;
let guard: RequestGuard;
let handled: number;
let reported: number;

beforeEach(() => {
  clock = new TestClock();
  guard = new RequestGuard(clock);
  handled = 0;
  reported = 0;
});

/** Makes a request. Returns it if it is postponed. */
function request(address: string, costMs = 0, connection?: object): Exchange | undefined {
  const handle = () => {
    handled++;
    clock.stall(costMs);
  };
  if (guard.enter(address)) {
    handle();
    guard.leave();
    return undefined;
  }
  const exchange = new Exchange(connection);
  guard.postpone(exchange, handle, () => reported++);
  return exchange;
}

/** Makes requests in one turn of the event loop. Returns those that are postponed. */
function requests(address: string, count: number, costMs = 0): Exchange[] {
  return Array.from({ length: count }, () => request(address, costMs)).filter((exchange) => exchange !== undefined);
}

test('of one address, a thousand requests are handled in one turn, and the others in the next ones', () => {
  expect(requests('a', 1500)).toHaveLength(500);
  expect(handled).toBe(1000);
  clock.advance(0);
  expect([handled, guard.floods]).toEqual([1500, 0]);
  expect(requests('a', 1000)).toEqual([]);
});

test.each([
  ['one address', 1],
  ['many addresses', 500],
])('of %s, requests are handled for 200 ms in one turn, and then for 50 ms in each', (_, count) => {
  const waiting = Array.from({ length: 500 }, (_, at) => requests(`${at % count}`, 1, 5)).flat();
  // The first 31 are not measured.
  expect(handled).toBe(31 + 41);
  expect(waiting).toHaveLength(500 - 72);
  clock.advance(0);
  expect(handled).toBe(72 + 10);
  while (handled < 500) clock.advance(0);
  expect([guard.floods, reported]).toEqual([0, 0]);
});

test('the numbers of requests of several addresses do not count for each other', () => {
  expect(requests('a', 1500)).toHaveLength(500);
  expect(requests('b', 500)).toEqual([]);
});

test('a connection that is closed in the turn of its request has sent more of them, and is counted and reported', () => {
  const [first, second] = requests('a', 1002) as [Exchange, Exchange];
  first.onAborted!();
  expect([guard.floods, reported]).toEqual([1, 1]);
  second.finished = true;
  clock.advance(0);
  expect(handled).toBe(1000);
});

test('a client that gives up later is no flood, and its request is dropped', () => {
  const waiting = requests('a', 500, 5);
  clock.advance(0);
  waiting.at(-1)!.onAborted!();
  while (handled < 499) clock.advance(0);
  clock.advance(0);
  expect([handled, guard.floods, reported]).toEqual([499, 0, 0]);
});

test('a connection whose server reads on is closed at its second waiting request, and counted once', () => {
  requests('a', 1000);
  const connection = {};
  const waiting = [1, 2, 3].map(() => request('a', 0, connection)!);
  expect(waiting.map(({ isDestroyed }) => isDestroyed)).toEqual([false, true, true]);
  expect([guard.floods, reported]).toEqual([1, 1]);
});
