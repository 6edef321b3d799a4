import { beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { DeadlineEntry, DeadlineQueue } from '../../src/engine/deadlines.js';
import { TestClock } from './support/clock.js';

class Item extends DeadlineEntry<Item> {
  constructor(readonly name: string) {
    super();
  }
}

describe('deadlines', () => {
  let clock: TestClock;
  let passed: string[];
  let queue: DeadlineQueue<Item>;
  const [a, b, c] = [new Item('a'), new Item('b'), new Item('c')];

  beforeEach(() => {
    clock = new TestClock();
    passed = [];
    queue = new DeadlineQueue<Item>(100, (item) => passed.push(`${item.name} at ${clock.now()}`), clock);
    for (const item of [a, b, c]) item.queue?.remove(item);
  });

  test('do not add up how late their timers were, unless that is more than a twentieth of the delay', () => {
    clock.advance(1000);
    queue.add(a, 995);
    queue.add(b, 994);
    clock.advance(95);
    expect(passed).toEqual(['a at 1095']);
    clock.advance(5);
    expect(passed).toEqual(['a at 1095', 'b at 1100']);
  });

  test('do not begin later than they are set', () => {
    clock.advance(1000);
    queue.add(a, 1050);
    clock.advance(100);
    expect(passed).toEqual(['a at 1100']);
  });

  test('are not due later than for a client that counts from the same moment', () => {
    clock.advance(1000.9);
    queue.add(a);
    clock.advance(99.2);
    expect(passed).toEqual(['a at 1100']);
  });

  test('move from one queue to another', () => {
    const other = new DeadlineQueue<Item>(10, (item) => passed.push(`${item.name} elsewhere`), clock);
    queue.add(a);
    other.add(a);
    queue.remove(a);
    clock.advance(100);
    expect(passed).toEqual(['a elsewhere']);
  });

  test('may be set again from within the callback', () => {
    let left = 3;
    const again = new DeadlineQueue<Item>(
      10,
      (item) => {
        passed.push(`${item.name} at ${clock.now()}`);
        if (--left > 0) again.add(item);
      },
      clock,
    );
    again.add(a);
    clock.advance(100);
    expect(passed).toEqual(['a at 10', 'a at 20', 'a at 30']);
    expect(clock.running).toBe(0);
  });

  test('share one timer, which stops with the queue', () => {
    for (const item of [a, b, c]) queue.add(item);
    expect(clock.running).toBe(1);
    queue.close();
    expect(clock.running).toBe(0);
    clock.advance(1000);
    expect(passed).toEqual([]);
  });

  test('can be found out before the timer does', () => {
    queue.add(a);
    clock.advance(50);
    queue.add(b);
    clock.stall(60);
    queue.check(b);
    queue.check(a);
    queue.check(a);
    expect(passed).toEqual(['a at 110']);
  });

  test('that passed while the process stood still do so once what came in meanwhile was read', () => {
    for (const item of [a, b, c]) queue.add(item);
    clock.stall(5000);
    queue.check(a);
    clock.advance(0);
    queue.check(b);
    expect(passed).toEqual([]);
    // That was an answer, which had waited.
    queue.add(c);
    clock.advance(0);
    expect(passed).toEqual(['a at 5000', 'b at 5000']);
    clock.advance(100);
    expect(passed).toEqual(['a at 5000', 'b at 5000', 'c at 5100']);
  });

  test('pass at the second look, however long that takes', () => {
    queue.add(a);
    clock.stall(5000);
    clock.advance(0);
    clock.stall(5000);
    clock.advance(0);
    expect(passed).toEqual(['a at 10000']);
  });

  test('still pass after the callback has thrown', () => {
    const failing = new DeadlineQueue<Item>(
      10,
      (item) => {
        if (item === a) throw new Error('a listener of the application');
        passed.push(item.name);
      },
      clock,
    );
    failing.add(a);
    failing.add(b);
    expect(() => clock.advance(10)).toThrow('a listener');
    clock.advance(10);
    expect(passed).toEqual(['b']);
  });

  test('pass once and never too early, whatever happens in between', () => {
    const step = fc.record({ item: fc.nat(9), remove: fc.boolean(), wait: fc.nat(60) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const time = new TestClock();
        const expected = new Map<Item, number>();
        const items = Array.from({ length: 10 }, (_, index) => new Item(String(index)));
        const tested = new DeadlineQueue<Item>(
          100,
          (item) => {
            expect(expected.get(item)).toBe(time.now());
            expected.delete(item);
          },
          time,
        );
        for (const { item, remove, wait } of steps) {
          const one = items[item]!;
          if (remove) {
            tested.remove(one);
            expected.delete(one);
          } else {
            tested.add(one);
            expected.set(one, time.now() + 100);
          }
          time.advance(wait);
        }
        time.advance(200);
        expect(expected.size).toBe(0);
      }),
    );
  });
});
