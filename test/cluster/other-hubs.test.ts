import { expect, test } from '@jest/globals';
import type { PubSub } from '../../src/cluster/backplanes/pub-sub.js';
import { OtherHubs } from '../../src/cluster/hub/other-hubs.js';
import { types } from '../../src/cluster/wire/types.js';
import { atEnd } from '../support/ends.js';

test('a hub that takes the place of one that ended without a word is here after that one is gone', () => {
  const pubSub = { health: { isUp: true, failures: 0 }, publish: () => Promise.resolve(undefined) };
  const seen: string[] = [];
  const ignore = () => {};
  const hubs = new OtherHubs('machine0', pubSub as unknown as PubSub, 'hubs', {
    onBegin: ({ id }) => seen.push(`here ${id}`),
    onLost: ({ id }) => seen.push(`gone ${id}`),
    ...{ onLinked: ignore, onEnvelope: ignore, onUnsent: ignore },
  });
  atEnd(() => hubs.close());
  const frame = { type: types.greeting, life: 1, series: 0, number: 0, time: 0 };
  const greet = (hub: string, machine: string) => hubs.onFrame({ ...frame, hub, machine }, Buffer.alloc(0));
  greet('hub-0001', 'machine1');
  greet('hub-0002', 'machine2');
  greet('hub-0003', 'machine1');
  greet('hub-0003', 'machine1');
  expect(seen).toEqual(['here hub-0001', 'here hub-0002', 'gone hub-0001', 'here hub-0003']);
  expect([...hubs.hubs.keys()]).toEqual(['hub-0002', 'hub-0003']);
});
