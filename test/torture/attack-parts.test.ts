import { expect, test } from '@jest/globals';
import { Pace } from '../../load/torture/attack/attacker/pace.js';
import { attacks } from '../../load/torture/attack/attacks.js';
import { tableOf } from '../../load/torture/attack/table.js';
import { faultsOf, isNoisy } from '../../load/torture/attack/verdict.js';
import { Waits } from '../../load/torture/attack/waits.js';

type Row = Parameters<typeof isNoisy>[0];

const quiet: Row = {
  spent: { bytes: 1_500_000, connections: 2, cpu: 0.1 },
  server: { cpu: 1.25, memory: 1, disk: 1, deaths: 0 },
  others: { same: 5, other: 5, post: 20, lost: 0, lag: 3 },
};
const changed = (change: Partial<Row['server'] & Row['others']>): Row => ({
  ...quiet,
  server: { ...quiet.server, ...change },
  others: { ...quiet.others, ...change },
});

test('bytes are spread evenly over time', () => {
  let now = 0;
  const pace = new Pace(1000, () => now);
  expect(pace.take(100)).toBe(0);
  expect(pace.take(100)).toBe(100);
  now = 150;
  expect(pace.take(50)).toBe(50);
});

test('a sender that was held up makes up for a quarter of a second at most', () => {
  let now = 0;
  const pace = new Pace(1000, () => now);
  pace.take(100);
  now = 10_000;
  expect(pace.take(250)).toBe(0);
  expect(pace.take(100)).toBe(0);
  expect(pace.take(1)).toBe(100);
});

test('the longest wait is that of any request, answered or not', () => {
  const waits = new Waits();
  waits.sent(1, 0);
  waits.sent(2, 50);
  waits.answer(2, 60);
  expect([waits.longest(70), waits.isSettled]).toEqual([70, false]);
  waits.answer(1, 80);
  waits.answer(1, 500);
  expect([waits.longest(1000), waits.isSettled, waits.answered]).toEqual([80, true, 2]);
});

test('a lost connection ends the waits of its requests', () => {
  const waits = new Waits();
  waits.sent(1, 0);
  waits.abandon(300);
  expect([waits.longest(9000), waits.isSettled, waits.answered]).toEqual([300, true, 0]);
});

test('what was before the attack does not count, a request that still waits does', () => {
  const waits = new Waits();
  waits.sent(1, 0);
  waits.answer(1, 900);
  waits.sent(2, 900);
  waits.reset();
  expect(waits.longest(950)).toBe(50);
});

test('a quiet row misses nothing', () => {
  expect(faultsOf(quiet)).toEqual([]);
  expect(isNoisy(quiet)).toBe(false);
});

test.each([
  [{ deaths: 1 }, 'workers died: 1 > 0'],
  [{ lost: 2 }, 'connections of others lost: 2 > 0'],
  [{ same: 501 }, 'same worker 501 > 500 ms'],
  [{ other: 101 }, 'other worker 101 > 100 ms'],
  [{ post: 501 }, 'acknowledgement 501 > 500 ms'],
  [{ memory: 301 }, 'memory 301 > 300 MB'],
  [{ redis: 301 }, 'memory of Redis 301 > 300 MB'],
])('the must that %j misses is named', (change, fault) => {
  expect(faultsOf(changed(change))).toEqual([fault]);
});

test('an attack may have bounds of its own', () => {
  expect(faultsOf(changed({ other: 300, disk: 200 }), { other: 500, disk: 100 })).toEqual(['disk 200 > 100 MB']);
});

test('a row is noisy where the probes were late themselves, or other programs were busy', () => {
  expect(isNoisy(changed({ lag: 51 }))).toBe(true);
  expect(isNoisy({ ...quiet, programs: 0.5 })).toBe(true);
});

test('attacks have names of their own, and say what they send', () => {
  const names = attacks.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names[0]).toBe('control');
  for (const { about } of attacks) expect(about.length).toBeGreaterThan(0);
});

test('the table has a row for each attack', () => {
  const row = {
    attack: 'control',
    limits: 'default',
    ...quiet,
    ok: true,
  };
  const [head, , first] = tableOf([row]).split('\n');
  const cells = (line = '') => line.split('|').map((cell) => cell.trim());
  const cell = (title: string) => cells(first)[cells(head).indexOf(title)];
  expect([cell('attack'), cell('sent MB'), cell('same ms'), cell('died')]).toEqual(['control', '1.5', '5', '0']);
});
