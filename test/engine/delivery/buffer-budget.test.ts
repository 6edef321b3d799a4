import { expect, test } from '@jest/globals';
import { BufferBudget, type Buffering } from '../../../src/engine/delivery/buffer-budget.js';
import { TestClock } from '../support/clock.js';

const MIB = 1024 * 1024;

/** A client for which bytes wait until it is closed. */
class Client implements Buffering {
  isClosed = false;

  constructor(private readonly waiting: number) {}

  get bufferedAmount(): number {
    return this.isClosed ? 0 : this.waiting;
  }

  onOverflow(): void {
    this.isClosed = true;
  }
}

function start(max: number, clients: Client[]) {
  const clock = new TestClock();
  const budget = new BufferBudget(max, () => clients.values(), clock);
  budget.start();
  return { clock, budget };
}

test('within the budget, no client is closed', () => {
  const clients = [new Client(9 * MIB), new Client(MIB)];
  const { clock, budget } = start(10 * MIB, clients);
  clock.advance(1000);
  expect(budget.buffered).toBe(10 * MIB);
  expect(clients.some(({ isClosed }) => isClosed)).toBe(false);
  budget.close();
  expect(clock.running).toBe(0);
});

test('beyond the budget, the clients with the most bytes are closed until half of it is free', () => {
  const amounts = [1, 4, 2, 3, 1, 0.01];
  const clients = amounts.map((mebibytes) => new Client(mebibytes * MIB));
  const { clock, budget } = start(10 * MIB, clients);
  clock.advance(50);
  // 11 MiB wait, so 6 must go: 4 and 3.
  expect(amounts.filter((_, index) => clients[index]!.isClosed)).toEqual([4, 3]);
  expect(budget.closed).toBe(2);
  clock.advance(1000);
  expect(budget.closed).toBe(2);
  expect(budget.buffered).toBeLessThanOrEqual(5 * MIB);
  budget.close();
});

test('many clients are measured in several turns', () => {
  const clients = Array.from({ length: 5000 }, () => new Client(MIB / 4));
  const { clock, budget } = start(1000 * MIB, clients);
  clock.advance(100);
  expect(budget.closed).toBe(0);
  clock.advance(50);
  expect(budget.closed).toBe(3000);
  budget.close();
});

test('clients with little waiting are never closed, and 0 is no limit', () => {
  const small = Array.from({ length: 1000 }, () => new Client(60_000));
  const first = start(MIB, small);
  first.clock.advance(500);
  expect(first.budget.closed).toBe(0);
  const second = start(0, [new Client(100 * MIB)]);
  second.clock.advance(500);
  expect(second.budget.closed).toBe(0);
  expect(second.clock.running).toBe(0);
});
