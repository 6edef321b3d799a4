import { describe, expect, test } from '@jest/globals';
import { RoundTrips } from '../../src/engine/round-trips.js';
import { mergeKeys, TopKeys } from '../../src/engine/top-keys.js';
import { TestClock } from './support/clock.js';

/** Random numbers that are the same each time. Source: Numerical Recipes, "An Even Quicker Generator". */
function numbers(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('the most frequent keys', () => {
  test('are found with their rates, among many others, and most events are passed over', () => {
    const clock = new TestClock();
    const keys = new TopKeys(clock, numbers());
    const random = numbers();
    let looks = 0;
    const note = (key: string) => {
      if (!keys.isDue()) return;
      if (clock.now() >= 10_000) looks++;
      keys.add(key);
    };
    // 20,000 events a second: a tenth of one address, a twentieth of another, the others of 100,000 addresses.
    for (let ms = 0; ms < 30_000; ms++) {
      for (let event = 0; event < 20; event++) {
        const dice = random();
        note(dice < 0.1 ? 'first' : dice < 0.15 ? 'second' : `other-${Math.floor(random() * 100_000)}`);
      }
      clock.advance(1);
    }
    const [first, second] = keys.top(2);
    expect([first!.key, second!.key]).toEqual(['first', 'second']);
    expect(first!.perSecond / 2000).toBeGreaterThan(0.8);
    expect(first!.perSecond / 2000).toBeLessThan(1.2);
    // Of 400,000 events in 20 s, once the rate is known.
    expect(looks).toBeLessThan(20 * 600);
    expect(keys.top(1000).length).toBeLessThanOrEqual(64);
  });

  test('do not depend on whose turn it is', () => {
    const clock = new TestClock();
    const keys = new TopKeys(clock, numbers());
    for (let ms = 0; ms < 20_000; ms++) {
      for (let client = 0; client < 8; client++) if (keys.isDue()) keys.add(`client-${client}`);
      clock.advance(1);
    }
    const rates = keys.top(8).map(({ perSecond }) => perSecond);
    expect(rates).toHaveLength(8);
    expect(Math.max(...rates) / Math.min(...rates)).toBeLessThan(2);
  });

  test('are forgotten when they no longer occur', () => {
    const clock = new TestClock();
    const keys = new TopKeys(clock);
    for (let event = 0; event < 100; event++) if (keys.isDue()) keys.add('gone');
    expect(keys.top(1)).toMatchObject([{ key: 'gone' }]);
    clock.advance(60_000);
    expect(keys.top(1)).toEqual([]);
  });

  test('of several streams are added up', () => {
    const one = [{ key: 'a', perSecond: 1 }];
    const other = [
      { key: 'b', perSecond: 3 },
      { key: 'a', perSecond: 1 },
    ];
    expect(mergeKeys([one, other], 2)).toEqual([
      { key: 'b', perSecond: 3 },
      { key: 'a', perSecond: 2 },
    ]);
  });
});

describe('round trips', () => {
  test('are measured from the ping to its answer, and only for a minute', () => {
    const clock = new TestClock();
    const trips = new RoundTrips(clock);
    const [client, silent] = [{}, {}];
    trips.sent(client);
    trips.sent(silent);
    clock.advance(30);
    trips.answered(client);
    trips.answered({});
    expect(trips.latest).toEqual([30]);
    clock.advance(61_000);
    expect(trips.latest).toEqual([]);
  });

  test('follow no more than a few pings, and give up those without an answer', () => {
    const clock = new TestClock();
    const trips = new RoundTrips(clock);
    for (let ping = 0; ping < 16; ping++) trips.sent({});
    const client = {};
    trips.sent(client);
    trips.answered(client);
    expect(trips.latest).toEqual([]);
    clock.advance(10_000);
    trips.sent(client);
    trips.answered(client);
    expect(trips.latest).toEqual([0]);
  });
});
