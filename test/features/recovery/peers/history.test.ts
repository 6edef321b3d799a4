import { expect, test } from '@jest/globals';
import { PacketLog } from '../../../../src/features/recovery/kept/packet-log.js';
import { type KeptPacket, PacketMemory, Stream } from '../../../../src/features/recovery/kept/stream.js';
import { decodeMessage, encodeMessage, type RecoveryMessage } from '../../../../src/features/recovery/messages.js';
import type { RecoveryHost } from '../../../../src/features/recovery/namespace-recovery.js';
import { HistoryExchange, type HistoryMessage } from '../../../../src/features/recovery/peers/history.js';
import { Buddies } from '../../../../src/features/recovery/peers/loans.js';
import { ForeignMessages } from '../../../../src/features/recovery/returns/foreign.js';
import { pass, until } from '../../../support/until.js';

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
  const foreign = new ForeignMessages();
  const delivered: number[] = [];
  const deliver = (sender: string, { number, at, ...content }: KeptPacket) => {
    if (log.add([sender, number, at], content)) delivered.push(number);
  };
  const owner = { nsp: { name: '/' }, log, sessions: undefined as never, foreign, deliver };
  const exchange = new HistoryExchange(owner, host, 600_000);
  const state = { isReady: false };
  void exchange.ready.then(() => {
    state.isReady = true;
  });
  return { exchange, log, asked, state, members, foreign, delivered };
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

/** The packets of a worker with these numbers, one each second, of which number 1000 is sent soon. */
function part(from: number, to: number, startedAt: number) {
  const at = (number: number) => startedAt + (number - 1000) * 1000 + 500;
  const packets = Array.from({ length: to - from + 1 }, (_, index) => {
    return { number: from + index, at: at(from + index), rooms: [], except: [], packets: ['x'] };
  });
  return { sender: '1', floor: from - 1, floorAt: at(from - 1), last: to, lastAt: at(to), packets };
}

test('what may be on its way to a worker that starts is delivered in order, also if it comes in several parts', () => {
  const { exchange, log, delivered } = newcomer([1]);
  exchange.ask();
  const now = Date.now();
  for (const [from, to] of [
    [1501, 2000],
    [1201, 1500],
    [701, 1200],
    [1, 700],
  ] as const) {
    exchange.learn(1, { ...history, streams: [part(from, to, now)], isLast: from === 1 });
  }
  expect(delivered).toEqual(Array.from({ length: 1001 }, (_, index) => 1000 + index));
  expect(log.tail('1', 0).map(({ number }) => number)).toEqual(Array.from({ length: 2000 }, (_, index) => index + 1));
});

test('a worker that drops packets of a session while it tells its history tells them all the same', async () => {
  const memory = new PacketMemory(1e6);
  const sessions = Array.from({ length: 250 }, (_, index) => {
    const direct = new Stream(memory);
    for (const number of [1, 2, 3]) direct.add({ number, at: number, rooms: [], except: [], packets: ['x'] });
    const state = { pid: `${index}`, sid: `${index}`, rooms: [], data: {}, worker: '1', resumedFrom: undefined };
    return { ...state, disconnectedAt: 5, aliveAt: 5, direct };
  });
  const told: HistoryMessage[] = [];
  const send = (_to: number, message: RecoveryMessage) => {
    told.push(decodeMessage(encodeMessage(message)) as HistoryMessage);
    memory.dropBefore(10);
  };
  const log = new PacketLog('1', memory, () => 1000);
  const owner = { nsp: { name: '/' }, log, sessions: { all: () => sessions } as never };
  const host = { members: [], send } as unknown as RecoveryHost;
  new HistoryExchange({ ...owner, foreign: new ForeignMessages(), deliver: () => {} }, host, 1000).teach(9);
  await until(() => told.at(-1)!.isLast);
  expect(told.flatMap((one) => one.sessions.map(({ direct }) => direct.packets.length))).toEqual(Array(250).fill(3));
});

test('a worker that starts learns which messages nothing numbers, or else knows nothing of before them', async () => {
  const foreign = [{ at: 20, rooms: ['room'], except: [] }];
  const [one, other] = [newcomer([1]), newcomer([1])];
  for (const { exchange } of [one, other]) exchange.ask();
  one.exchange.learn(1, { ...history, since: 20, fullSince: 5, foreign });
  other.exchange.learn(1, { ...history, since: 20 });
  expect([one.log.since, one.foreign.all, other.log.since]).toEqual([5, foreign, 20]);
});

test('a worker that starts does not count on a history from before an outage', async () => {
  const { exchange, log } = newcomer([1]);
  exchange.ask();
  await pass(5);
  log.start();
  exchange.learn(1, history);
  expect(log.since).toBeGreaterThan(5);
});

test('only so many messages that nothing numbers are remembered', () => {
  const foreign = new ForeignMessages(3);
  const message = (at: number) => ({ at, rooms: [], except: [] });
  for (const at of [10, 30]) foreign.add(message(at));
  foreign.learn([1, 20, 40].map(message));
  expect([foreign.all.map(({ at }) => at), foreign.since]).toEqual([[20, 30, 40], 10]);
  foreign.add(message(50));
  expect([foreign.all.length, foreign.since, foreign.lastAt]).toEqual([3, 20, 50]);
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
