import { expect, test } from '@jest/globals';
import type { PubSub } from '../../src/cluster/backplanes/pub-sub.js';
import { OtherHubs } from '../../src/cluster/hub/other-hubs.js';
import { pack, senderOf } from '../../src/cluster/wire/envelope.js';
import { frameHead } from '../../src/cluster/wire/hub-frame.js';
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

test('what a hub has sent last still counts when nobody listens to its channel any more', async () => {
  let receivers = 1;
  const health = { isUp: true, failures: 0, unsent: 0, noteGap: () => {} };
  const pubSub = { health, publish: () => Promise.resolve(receivers) };
  const seen: string[] = [];
  const ignore = () => {};
  const hubs = new OtherHubs('machine0', pubSub as unknown as PubSub, 'hubs', {
    onLinked: () => seen.push('here'),
    onEnvelope: (_hub, { body }) => seen.push(`${body}`),
    onLost: () => seen.push('gone'),
    ...{ onBegin: ignore, onUnsent: ignore },
  });
  atEnd(() => hubs.close());
  const envelope = (text: string) => pack({ type: types.service, part: 0, from: senderOf(0, 'machine1') }, text);
  const hear = (type: number, number = 0, ...texts: string[]) => {
    const frame = { type, hub: 'hub-0001', machine: 'machine1', life: 1, series: 5, number, time: 0 };
    hubs.onFrame(frame, Buffer.concat([frameHead(frame), ...texts.map(envelope)]));
  };
  await hubs.begin();
  hear(types.frame, 0, 'first');
  receivers = 0;
  const send = async () => {
    const [hub] = hubs.hubs.values();
    hub!.out.add(envelope('question'));
    hubs.flush();
    await Promise.resolve();
  };
  await send();
  hear(types.frame, 1, 'last words');
  hear(types.bye);
  expect(seen).toEqual(['here', 'first', 'last words', 'gone']);
  // One that says nothing any more is gone with the next turn.
  hear(types.frame, 0, 'again');
  await send();
  hubs.turn();
  expect(seen.slice(4)).toEqual(['here', 'again', 'gone']);
});
