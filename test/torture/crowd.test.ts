import { expect, test } from '@jest/globals';
import { Listeners } from '../../load/torture/application/trial.js';

/** A crowd of one client, which hears these numbers of a worker; `new` is a new session. */
function crowdThatHears(...numbers: (number | 'new')[]): Listeners {
  const crowd = new Listeners();
  const heard = new Map<string, object[]>([
    ['room', []],
    ['own', []],
  ]);
  const client: (typeof crowd.clients)[number] = { heard, ids: new Set(['mine']), gaps: [] };
  crowd.clients.push(client);
  for (const one of numbers) {
    if (one === 'new') client.gaps.push({ after: client.last ?? 0, before: undefined });
    else crowd.hear(client, 'room', { key: one, lane: 'worker' });
  }
  return crowd;
}

const confirmed = (...numbers: number[]) => new Map(numbers.map((number) => [number, [] as string[]]));
const countsOf = (crowd: Listeners, all: Map<number, string[]>) => ({
  lost: crowd.lost(all),
  missed: crowd.missed(all),
  repeated: crowd.repeated,
  outOfOrder: crowd.outOfOrder(),
});
const none = { lost: 0, missed: 0, repeated: 0, outOfOrder: 0 };

test.each([
  ['all in order', [1, 2, 3], none],
  ['from the second on, when it came later', [2, 3], none],
  ['a gap', [1, 3], { ...none, lost: 1 }],
  ['an end that never comes', [1, 2], { ...none, lost: 1 }],
  ['one twice', [1, 2, 2, 3], { ...none, repeated: 1 }],
  ['one after the next', [1, 3, 2], { ...none, outOfOrder: 1 }],
  ['nothing between two sessions', [1, 'new', 3], { ...none, missed: 1 }],
  ['a gap in the second session', [1, 'new', 2, 3, 5], { ...none, lost: 1 }],
] as const)('a client that hears %s', (_name, numbers, counts) => {
  const last = numbers.includes(5 as never) ? 5 : 3;
  const all = confirmed(...Array.from({ length: last }, (_, index) => index + 1));
  expect(countsOf(crowdThatHears(...numbers), all)).toEqual(counts);
});

test('what is sent to each socket alone is lost by the client whose socket it was', () => {
  const all = new Map([
    [1, ['mine', 'another']],
    [2, ['another']],
  ]);
  expect(crowdThatHears(1, 2).lost(all)).toBe(1);
});
