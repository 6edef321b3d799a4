import { expect, test } from '@jest/globals';
import { Departures } from '../../../src/state/replication/departures.js';
import type { Answer, Channel } from '../../../src/state/replication/messages.js';
import { Peer } from '../../../src/state/replication/peer.js';
import { HybridClock } from '../../../src/state/version.js';

/** A worker that has heard of `one` and `two` up to a time, and whom those in `answering` answer. */
function departuresOf(clock: HybridClock, heardUpTo: number, answering: readonly string[]) {
  const peers = new Map(['one', 'two'].map((node) => [node, new Peer(1, heardUpTo)]));
  const ask = async (): Promise<Answer[]> =>
    answering.map((node) => {
      const progress = { node, sequence: 1, clock: heardUpTo, to: 'me', id: 1 };
      return { ...progress, type: 'rest', heard: 1, clockOf: heardUpTo, rooms: [] };
    });
  const departures = new Departures({
    node: 'me',
    peers,
    channel: { ask } as unknown as Channel,
    clock,
    roomsWith: () => [],
    pullOf: async () => true,
    onGone: () => {},
  });
  const lose = (node: string) => departures.lose(node, peers.get(node)!);
  return { departures, lose };
}

test('of two workers that are killed together, it is unknown what one had of the other', async () => {
  const clock = new HybridClock();
  const heard = clock.tick();
  const { departures, lose } = departuresOf(clock, heard, []);
  const seen = { epoch: 'e', complete: heard, latest: clock.tick() };
  expect(departures.hasAllOf('two', seen)).toBe(true);
  await lose('one');
  await lose('two');
  expect(departures.hasAllOf('two', seen)).toBe(false);
  // What was changed before is here.
  expect(departures.hasAllOf('two', { ...seen, latest: heard })).toBe(true);
  // A version from long after says that its writer had waited for the other one, too.
  const later = clock.tick() + 3_600_000 * 4096;
  expect(departures.hasAllOf('two', { epoch: 'e', complete: later, latest: later })).toBe(true);
});

test('a worker that has given what it had of a killed one, and is killed later, leaves nothing unknown', async () => {
  const clock = new HybridClock();
  const heard = clock.tick();
  const { departures, lose } = departuresOf(clock, heard, ['two']);
  const seen = { epoch: 'e', complete: heard, latest: clock.tick() };
  await lose('one');
  await lose('two');
  expect(departures.hasAllOf('two', seen)).toBe(true);
});
