import { describe, expect, test } from '@jest/globals';
import { Peer } from '../../../../src/cluster/backplanes/frames/interest/interest.js';
import { Withheld } from '../../../../src/cluster/backplanes/frames/interest/withheld.js';
import { RemoteClock } from '../../../../src/cluster/hub/remote-clock.js';

const peerNamed = (id: string) => new Peer(id, () => {});
const message = (name: string, keys: number[], bytes = 100) => ({ name, keys, bytes });

describe('messages that were withheld', () => {
  const [one, other] = [peerNamed('one'), peerNamed('other')];

  function withheld() {
    let late = 0;
    const messages = new Withheld<ReturnType<typeof message>>(() => late++);
    const taken = (peer: Peer, keys: number[], since: number) =>
      messages.takeFor(peer, keys, since).map(({ name }) => name);
    return { messages, taken, late: () => late };
  }

  test('go to a worker that had members of their rooms when they left, once and in order', () => {
    const { messages, taken, late } = withheld();
    messages.keep(message('too early', [1]), [], 99);
    messages.keep(message('first', [1]), [], 100);
    messages.keep(message('elsewhere', [2]), [], 101);
    messages.keep(message('second', [2, 1]), [], 102);
    messages.keep(message('already there', [1, 3]), [one], 103);
    expect(taken(one, [1], 100)).toEqual(['first', 'second']);
    expect(taken(one, [1], 100)).toEqual([]);
    // After a broken link, a worker comes back with the same id.
    expect(taken(peerNamed('one'), [1], 100)).toEqual([]);
    expect(taken(other, [1, 2], 101)).toEqual(['elsewhere', 'second', 'already there']);
    expect(late()).toBe(0);
  });

  test('are kept for a second, and a later announcement is counted', () => {
    const { messages, taken, late } = withheld();
    messages.keep(message('old', [1]), [], 0);
    messages.keep(message('young', [1]), [], 9_000);
    messages.keep(message('elsewhere', [2]), [], 10_001);
    expect(taken(one, [1], 0)).toEqual(['young']);
    expect(late()).toBe(1);
    expect(taken(other, [1], 1)).toEqual(['young']);
    expect(late()).toBe(1);
    messages.keep(message('elsewhere', [2]), [], 700_000);
    messages.keep(message('elsewhere', [2]), [], 1_400_000);
    taken(other, [1], -3_000_000);
    expect(late()).toBe(1);
  });

  test.each([
    ['1,000 of them', 2500, 10, 1000],
    ['4 MiB', 10, 1024 * 1024, 4],
  ])('are at most %s', (_name, count, bytes, kept) => {
    const { messages, taken, late } = withheld();
    for (let number = 0; number < count; number++) messages.keep(message(`${number}`, [1], bytes), [], number);
    expect(taken(one, [1], 0)).toEqual(Array.from({ length: kept }, (_, index) => `${count - kept + index}`));
    expect(late()).toBe(1);
  });

  test('count with the workers that have got them', () => {
    const { messages, taken } = withheld();
    const all = Array.from({ length: 1024 * 128 }, () => other);
    for (let number = 0; number < 6; number++) messages.keep(message(`${number}`, [1], 0), [...all], number);
    expect(taken(one, [1], 0)).toEqual(['2', '3', '4', '5']);
    messages.keep(message('6', [2], 0), [], 6);
    expect(taken(other, [2], 0)).toEqual(['6']);
  });
});

describe('the clock of another machine', () => {
  test.each([0, 2 ** 31 - 50, -(2 ** 31), -50])(
    'is known by the shortest way, also when %s ticks are shown',
    (start) => {
      const clock = new RemoteClock();
      expect(clock.isKnown).toBe(false);
      // It is 7,000 ticks ahead, and the messages take 30, 5 and 900 ticks.
      for (const [sent, way] of [
        [0, 30],
        [20_000, 5],
        [40_000, 900],
      ] as const) {
        clock.note((start + 7000 + sent) | 0, (start + sent + way) | 0);
      }
      expect(clock.isKnown).toBe(true);
      // A message that arrives at 50,000 or later left at 49,995 or later; the clocks are 1 ms apart at most.
      expect(clock.departure((start + 50_000) | 0)).toBe((start + 7000 + 50_000 - 5 - 10) | 0);
    },
  );

  test('follows clocks that run apart', () => {
    const clock = new RemoteClock();
    clock.note(0, 5);
    clock.note(10_000, 10_105);
    expect(clock.departure(20_000)).toBe(20_000 - 5 - 10);
    for (let time = 90_000; time < 270_000; time += 20_000) clock.note(time, time + 105);
    expect(clock.departure(300_000)).toBe(300_000 - 105 - 10);
  });
});
