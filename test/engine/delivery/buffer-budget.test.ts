import { expect, test } from '@jest/globals';
import { BufferBudget, type Buffering } from '../../../src/engine/delivery/buffer-budget.js';
import { Holder } from '../../../src/engine/delivery/held-bytes.js';
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

test('clients are measured less often while little waits', () => {
  let passes = 0;
  let waiting = 0;
  const client: Buffering = {
    get bufferedAmount() {
      passes++;
      return waiting;
    },
    onOverflow: () => {},
  };
  const clock = new TestClock();
  const budget = new BufferBudget(80 * MIB, () => [client], clock);
  budget.start();
  clock.advance(50 + 4 * 250);
  expect(passes).toBe(5);
  waiting = 11 * MIB;
  clock.advance(250);
  expect(budget.buffered).toBe(11 * MIB);
  clock.advance(4 * 50);
  expect(passes).toBe(10);
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

/** Input of a client. */
class Input extends Holder {
  isDropped = false;

  add(bytes: number): void {
    this.hold(bytes);
  }

  onOverflow(): void {
    this.isDropped = true;
    this.letGo();
  }
}

test('input and output share the budget, and the largest of both go first', () => {
  const [small, large] = [new Client(MIB), new Client(6 * MIB)];
  const { clock, budget } = start(10 * MIB, [small, large]);
  clock.advance(50);
  const inputs = [1, 2].map((mebibytes) => {
    const input = new Input(budget.incoming);
    input.add(mebibytes * MIB);
    return input;
  });
  expect([large.isClosed, budget.buffered, budget.incoming.total]).toEqual([false, 7 * MIB, 3 * MIB]);
  // Input is counted as it arrives, without a wait for the next turn.
  inputs[0]!.add(1);
  expect([small.isClosed, large.isClosed, ...inputs.map(({ isDropped }) => isDropped)]).toEqual([
    false,
    true,
    false,
    false,
  ]);
  expect([budget.closed, budget.closedIncoming]).toEqual([1, 0]);
  budget.close();
});

test('output that may not be closed is not measured again for each byte of input', () => {
  let passes = 0;
  const small = Array.from({ length: 1000 }, () => new Client(60_000));
  const clock = new TestClock();
  const clients = () => {
    passes++;
    return small.values();
  };
  const budget = new BufferBudget(10 * MIB, clients, clock);
  budget.start();
  clock.advance(50);
  for (let times = 0; times < 1000; times++) new Input(budget.incoming).add(10);
  expect(passes).toBeLessThan(5);
  budget.close();
});

test('the budget for input alone applies where output has none', () => {
  const clock = new TestClock();
  const budget = new BufferBudget(0, () => [], clock, 3 * MIB);
  budget.start();
  const inputs = [1, 0.5, 1.6].map((mebibytes) => {
    const input = new Input(budget.incoming);
    input.add(mebibytes * MIB);
    return input;
  });
  expect(inputs.map(({ isDropped }) => isDropped)).toEqual([false, false, true]);
  expect(clock.running).toBe(0);
});

/** A response that waits. */
class Response extends Holder {
  isClosed = false;

  keep(bytes: number): this {
    this.hold(bytes);
    return this;
  }

  onOverflow(): void {
    this.isClosed = true;
    this.letGo();
  }
}

test('responses count at once, together with WebSockets, and the largest goes first', () => {
  const client = new Client(3 * MIB);
  const { clock, budget } = start(10 * MIB, [client]);
  const small = new Response(budget.outgoing).keep(2 * MIB);
  clock.advance(50);
  expect(budget.buffered).toBe(5 * MIB);
  const large = new Response(budget.outgoing).keep(4 * MIB);
  expect([small, large, client].map(({ isClosed }) => isClosed)).toEqual([false, false, false]);
  const last = new Response(budget.outgoing).keep(2 * MIB);
  // 11 MiB wait, so 6 must go: 4 and 3. No time has passed.
  expect([small, large, last, client].map(({ isClosed }) => isClosed)).toEqual([false, true, false, true]);
  expect(budget.closed).toBe(2);
  budget.close();
});

test('after much was sent, clients are measured before the next message, and not at the end of the pause', () => {
  const clients: Client[] = [];
  const { clock, budget } = start(80 * MIB, clients);
  clock.advance(50);
  for (let count = 0; count < 3; count++) clients.push(new Client(30 * MIB));
  budget.sending(MIB);
  expect(clients.some(({ isClosed }) => isClosed)).toBe(false);
  budget.sending(10 * MIB);
  // 90 MiB wait, so 50 must go.
  expect(clients.filter(({ isClosed }) => isClosed)).toHaveLength(2);
  budget.close();
});
