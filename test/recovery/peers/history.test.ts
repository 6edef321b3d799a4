import { expect, test } from '@jest/globals';
import type { RecoveryHost } from '../../../src/recovery/host.js';
import { PacketLog } from '../../../src/recovery/kept/packet-log.js';
import { PacketMemory } from '../../../src/recovery/kept/stream.js';
import type { RecoveryMessage } from '../../../src/recovery/messages.js';
import { Buddies } from '../../../src/recovery/peers/buddies.js';
import { HistoryExchange, type HistoryMessage } from '../../../src/recovery/peers/history.js';

/** A worker that starts on a machine with other workers. */
function newcomer(members: number[]) {
  const asked: [to: number, isOwn: boolean | undefined][] = [];
  const host = {
    members,
    send: (to: number, message: RecoveryMessage) => {
      if (message.type === 'ask') asked.push([to, message.isOwn]);
    },
  } as unknown as RecoveryHost;
  const log = new PacketLog('9', new PacketMemory(1e6), () => 1000);
  log.start();
  const owner = { nsp: { name: '/' }, log, sessions: undefined as never, deliver: () => {} };
  const exchange = new HistoryExchange(owner, host, 600_000);
  const state = { isReady: false };
  void exchange.ready.then(() => {
    state.isReady = true;
  });
  return { exchange, log, asked, state, members };
}

const history: HistoryMessage = { nsp: '/', type: 'history', streams: [], sessions: [], since: 5, isLast: true };

test('a worker whose teacher dies does not take the last broadcasts of another one for the whole history', async () => {
  const { exchange, log, asked, state, members } = newcomer([1, 2]);
  exchange.ask();
  members.shift();
  exchange.gone(1);
  expect(asked).toEqual([
    [1, undefined],
    [2, true],
    [2, undefined],
  ]);
  exchange.learn(2, { ...history, isOwn: true });
  await Promise.resolve();
  expect([state.isReady, log.since > 5]).toEqual([false, true]);
  exchange.learn(2, { ...history, isOwn: false });
  await exchange.ready;
  expect(log.since).toBe(5);
});

test('a worker asks the next one if the oldest one does not have the namespace', async () => {
  const { exchange, log, asked } = newcomer([1, 2, 3]);
  exchange.ask();
  exchange.learn(1, { ...history, since: 1, isAbsent: true });
  for (const from of [2, 3]) exchange.learn(from, { ...history, isOwn: true });
  expect(asked.at(-2)).toEqual([2, undefined]);
  exchange.learn(2, { ...history, isOwn: false });
  exchange.learn(3, { ...history, isOwn: true });
  await exchange.ready;
  expect(log.since).toBe(5);
});

test('the buddy is the next worker that has the namespace, until it is gone', () => {
  const members = [2, 4, 6];
  const buddies = new Buddies({ id: 3, members });
  expect(buddies.current).toBe(4);
  buddies.has(6);
  buddies.has(2);
  expect(buddies.current).toBe(6);
  buddies.has(4);
  expect(buddies.current).toBe(6);
  buddies.leaves(6);
  expect(buddies.current).toBe(4);
  members.splice(1, 1);
  buddies.gone(4);
  expect(buddies.current).toBe(2);
  members.splice(0);
  buddies.gone(2);
  expect(buddies.current).toBeUndefined();
});
