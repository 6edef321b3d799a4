import { expect, test } from '@jest/globals';
import { Entries, type KeyChange } from '../../../src/features/state/entries.js';
import { SequencedRoom } from '../../../src/features/state/sequencer/room.js';
import { encodeVersion, HybridClock, parseVersion } from '../../../src/features/state/version.js';

const put = (entries: Entries, change: KeyChange) => entries.put(change, entries.seq + 1);
const keysAfter = (entries: Entries, seq: number) => [...entries.after(seq)].map(({ key }) => key);
const change = (key: string, value: string | undefined, clock: number, origin = 'a') => ({ key, value, clock, origin });

const NONE = { maxKeys: 2, maxBytes: 1000 };

test('the newest change of a key wins, and of two at the same time that of the larger id', () => {
  const room = new SequencedRoom('room', NONE, 'n', new HybridClock(), () => {});
  const { entries } = room;
  expect(room.merge(change('k', '1', 5, 'b'), false)).toBe('taken');
  expect(room.merge(change('k', '2', 4, 'c'), false)).toBe('older');
  expect(room.merge(change('k', '3', 5, 'a'), false)).toBe('older');
  expect(room.merge(change('k', '1', 5, 'b'), false)).toBe('older');
  expect(room.merge(change('k', '4', 5, 'c'), false)).toBe('taken');
  expect(room.merge(change('k', undefined, 6), false)).toBe('taken');
  expect(room.merge(change('k', '5', 5, 'z'), false)).toBe('older');
  expect(entries.get('k')).toBeUndefined();
  expect([entries.seq, entries.size, entries.bytes]).toEqual([3, 0, 0]);
});

test('after its deletion was forgotten, a key comes back only if it was not here before', () => {
  const room = new SequencedRoom('room', NONE, 'n', new HybridClock(), () => {});
  const { entries } = room;
  for (let clock = 1; clock <= 4; clock++) room.merge(change(`k${clock}`, 'x', clock), false);
  for (let clock = 5; clock <= 8; clock++) room.merge(change(`k${clock - 4}`, undefined, clock), false);
  expect([entries.forgottenClock, entries.find('k1')]).toEqual([6, undefined]);
  // The deletion says again that what was here is gone, and what was set later stays elsewhere.
  room.merge(change('k1', 'x', 1), true);
  expect(entries.find('k1')).toMatchObject({ value: undefined, clock: 1, origin: '~n' });
  // What comes late has its own time, so that it does not replace what its sender has set later.
  room.merge(change('k2', 'late', 3), false);
  expect(entries.get('k2')).toMatchObject({ value: 'late', clock: 3, origin: 'a' });
});

test('a reader needs each key once, in the order of its latest change', () => {
  const entries = new Entries(10);
  let clock = 0;
  for (const key of ['a', 'b', 'c', 'a', 'b', 'a']) put(entries, change(key, key, ++clock));
  expect(keysAfter(entries, 0)).toEqual(['c', 'b', 'a']);
  expect(keysAfter(entries, 4)).toEqual(['b', 'a']);
  expect(keysAfter(entries, 6)).toEqual([]);
  expect(entries.seqBefore(3)).toBe(4);
  expect(entries.seqBefore(0)).toBe(2);
  expect(entries.seqBefore(6)).toBe(6);
});

test('superseded changes are dropped from the order, which stays the same', () => {
  const entries = new Entries(10);
  for (let clock = 1; clock <= 5000; clock++) put(entries, change(`k${clock % 7}`, 'x', clock));
  expect(keysAfter(entries, 0)).toEqual(['k2', 'k3', 'k4', 'k5', 'k6', 'k0', 'k1'].map((_, i) => `k${(4994 + i) % 7}`));
  expect(keysAfter(entries, 4998)).toEqual([`k${4999 % 7}`, `k${5000 % 7}`]);
});

test('deleted keys are remembered up to a number', () => {
  const entries = new Entries(2);
  for (let clock = 1; clock <= 4; clock++) put(entries, change(`k${clock}`, 'x', clock));
  for (let clock = 5; clock <= 7; clock++) put(entries, change(`k${clock - 4}`, undefined, clock));
  expect(keysAfter(entries, 0)).toEqual(['k4', 'k2', 'k3']);
  expect([entries.forgottenSeq, entries.forgottenClock]).toEqual([5, 5]);
});

test('the clock never goes back, nor behind what it has heard', () => {
  let now = 1000;
  const clock = new HybridClock(() => now, 0);
  const first = clock.tick();
  now = 500;
  expect(clock.tick()).toBe(first + 1);
  clock.heard(first + 100);
  clock.heard(5);
  expect(clock.tick()).toBe(first + 101);
  now = 2000;
  expect(clock.tick()).toBe(2000 * 4096);
});

test('a version is read as it was written', () => {
  const version = { epoch: 'a-_Z09xy', number: Number.MAX_SAFE_INTEGER, timeMs: 1_800_000_000_000 };
  expect(parseVersion(encodeVersion(version))).toEqual(version);
  for (const text of ['', 'a', 'a.', 'a.b', '.b.c', 'a.b.c.d', 'a.B.c', 'a.-1.1', 5, null, `a.${'z'.repeat(12)}.1`]) {
    expect(parseVersion(text)).toBeUndefined();
  }
});
