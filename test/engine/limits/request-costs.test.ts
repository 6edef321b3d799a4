import { expect, test } from '@jest/globals';
import { RequestCosts } from '../../../src/engine/limits/request-costs.js';
import { WorkQueue } from '../../../src/engine/limits/work-queue.js';
import { until } from '../../support/until.js';
import { TestClock } from '../support/clock.js';

const RATE = { amount: 1000, per: 1000 };

test.each([['a name', 'http ada'] as const, ['a connection', {}] as const])(
  '%s may use so many bytes at once, and then owes the rest for a while',
  (_what, client) => {
    const clock = new TestClock();
    const costs = new RequestCosts(RATE, clock);
    costs.charge(client, 900);
    expect(costs.waitOf(client)).toBe(0);
    costs.charge(client, 400);
    expect(costs.waitOf(client)).toBe(300);
    expect(() => costs.chargeAtOnce(client, 1)).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }));
    clock.advance(299);
    expect(costs.waitOf(client)).toBe(1);
    clock.advance(1);
    costs.chargeAtOnce(client, 1);
    expect(costs.waitOf('another')).toBe(0);
  },
);

test('a client owes an interval at most, whatever it has asked for', () => {
  const clock = new TestClock();
  const costs = new RequestCosts(RATE, clock);
  for (let count = 0; count < 100; count++) costs.charge('ada', 1_000_000);
  expect(costs.waitOf('ada')).toBe(1000);
  clock.advance(1000);
  expect(costs.waitOf('ada')).toBe(0);
});

test('without a rate, nothing is charged', () => {
  const costs = new RequestCosts(undefined, new TestClock());
  costs.charge('ada', 1e12);
  costs.chargeAtOnce('ada', 1);
  expect(costs.waitOf('ada')).toBe(0);
});

test('a client that owes something waits for its next request, and others do not', async () => {
  let owed = 10;
  const queue = new WorkQueue('reads', { waitOf: (client) => (client === 'mallory' ? owed : 0) });
  const order: string[] = [];
  const note = (name: string) => async () => void order.push(name);
  const mallory = queue.run('mallory', note('mallory'));
  await queue.run('alice', note('alice'));
  await queue.run('bob', note('bob'));
  owed = 0;
  await mallory;
  expect(order).toEqual(['alice', 'bob', 'mallory']);
});

test('what waits may keep 32 MiB in all, beside one request of any size', async () => {
  const queue = new WorkQueue('changes');
  let go!: () => void;
  const gone = new Promise<void>((resolve) => {
    go = resolve;
  });
  const MIB = 1024 * 1024;
  let running = 0;
  const blockers = [1, 2, 3, 4].map(() =>
    queue.run({}, () => {
      running++;
      return gone;
    }),
  );
  await until(() => running === 4);
  const large = queue.run({}, async () => {}, 40 * MIB);
  expect(() => queue.run({}, async () => {}, 1)).toThrow(expect.objectContaining({ code: 'OVERLOADED' }));
  go();
  await Promise.all([...blockers, large]);
  await queue.run({}, async () => {}, 1);
});
