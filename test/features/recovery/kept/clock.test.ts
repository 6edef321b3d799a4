import { afterEach, expect, jest, test } from '@jest/globals';
import { joinTexts } from '../../../../src/base/names.js';
import { Heads } from '../../../../src/features/recovery/heads.js';
import { ClockWatch } from '../../../../src/features/recovery/keeper/clock-watch.js';
import { Keeper } from '../../../../src/features/recovery/keeper/keeper.js';
import { Packets } from '../../../../src/features/recovery/keeper/packets.js';
import { PacketMemory } from '../../../../src/features/recovery/keeper/stream.js';
import type { MissedQuestion, SessionState, ToWorker } from '../../../../src/features/recovery/messages.js';
import { encodeOffset } from '../../../../src/features/recovery/offset.js';
import { VersionVector } from '../../../../src/features/recovery/version-vector.js';
import { ticks } from '../../../support/clock.js';
import { until } from '../../../support/until.js';

/** The clock of a machine is moved: its times say nothing to others, or to itself before and after. */

const HOUR_MS = 3_600_000;
const SENDER = '2';
const options = () => ({
  ...{ durationMs: 60_000, silenceMs: 0, slackMs: 0, sweepMs: 5000, maxBytes: 1e9, maxSessions: 1000 },
  ...{ maxRooms: 10, maxMissed: 10, maxMissedBytes: 1e6, maxReplayed: 10, maxReplayedBytes: 1e6 },
});

afterEach(() => {
  jest.restoreAllMocks();
});

test('a worker knows what it has received after a step of its clock', () => {
  const heads = new Heads('1', () => 60_000);
  heads.add([SENDER, 5, Date.now()], { rooms: [], except: [], packets: [] });
  const later = Date.now() + HOUR_MS;
  jest.spyOn(Date, 'now').mockReturnValue(later);
  heads.sweep();
  expect(`${heads.received}`).toBe(`${new VersionVector([[SENDER, 5]])}`);
});

/** What a client lacks of two packets, of which a bound has dropped the first one if `isDropped`. */
async function missing(question: { at?: number; received?: number; session?: object }, isDropped = false) {
  const { at = Date.now(), received, session } = question;
  const memory = new PacketMemory(1e9);
  const packets = new Packets(memory, options);
  packets.begin(SENDER, 0);
  for (const number of [1, 2])
    packets.add(SENDER, { number, at: Date.now(), rooms: [], except: [], packets: ['2["x"]'] });
  if (isDropped) {
    memory.maxBytes = memory.bytes;
    packets.add(SENDER, { number: 3, at: Date.now(), rooms: ['other'], except: [], packets: [] });
  }
  const found = await packets.missing({
    offset: encodeOffset(at, '1', 0, new VersionVector(received === undefined ? [] : [[SENDER, received]])),
    received: '',
    receivesSince: 0,
    askedAt: Date.now(),
    session: { rooms: ['room'], aliveAt: at, floors: undefined, alsoReceived: undefined, ...session },
  } as MissedQuestion);
  return found.outcome ?? found.packets.map(([, number]) => number);
}

test('the offset of a machine whose clock is ahead says nothing of a sender that it does not name', async () => {
  expect(await missing({})).toEqual([1, 2]);
  expect(await missing({ at: Date.now() + HOUR_MS })).toBe('packets missing');
  expect(await missing({ at: Date.now() + HOUR_MS, received: 1 })).toEqual([2]);
});

test('a client that joined or was alive by a clock that was ahead is not taken for one that has received everything', async () => {
  const late = Date.now() + HOUR_MS;
  expect(await missing({ received: 1, session: { floors: [{ at: late, numbers: '' }] } })).toBe('packets missing');
  expect(await missing({ received: 0, session: { aliveAt: late } })).toEqual([1, 2]);
  expect(await missing({ received: 0, session: { aliveAt: late } }, true)).toBe('packets missing');
});

test('a client that was silent while the clock was moved is not taken for one that has received what was dropped', async () => {
  const WORKER = 1;
  const answers: ToWorker[] = [];
  const keeper = new Keeper({
    isAlone: true,
    sendToWorker: (_worker, message) => answers.push(message),
    sendToHub: () => {},
  });
  const answered = async (type: ToWorker['type']) => {
    await until(() => answers.some((answer) => answer.type === type));
    return answers.find((answer) => answer.type === type);
  };
  const now = Date.now();
  const session: SessionState = {
    ...{ pid: 'p'.repeat(20), sid: 's'.repeat(20), rooms: ['room'], data: {}, worker: SENDER, aliveAt: now },
    ...{ resumedFrom: undefined, floors: [], alsoReceived: undefined, isShared: false },
    ...{ user: undefined, address: undefined, connection: undefined },
  };
  const packet = { number: 1, at: now + 1, rooms: ['room'], except: [], packets: ['x'.repeat(6000)] };
  const space = joinTexts('0', '/');
  const spaceOptions = { ...options(), silenceMs: 45_000, sweepMs: 1, maxBytes: 10_000 };
  keeper.onMessage(WORKER, { type: 'open', space, name: SENDER, sent: 0, isAgain: false, options: spaceOptions });
  keeper.onMessage(WORKER, { type: 'live', space, session, floor: 0, floorAt: 0 });
  keeper.onMessage(WORKER, { type: 'packet', space, packet });
  jest.spyOn(Date, 'now').mockReturnValue(now + HOUR_MS);
  const others = { number: 2, at: now + HOUR_MS, rooms: ['other'], except: [], packets: packet.packets };
  keeper.onMessage(WORKER, { type: 'packet', space, packet: others });
  expect(await answered('figures')).toMatchObject({ figures: { dropped: { packets: 1 } } });
  keeper.onMessage(WORKER, { type: 'away', space, pid: session.pid });
  const offset = encodeOffset(now, SENDER, 0, new VersionVector([[SENDER, 0]]));
  const question = { request: 1, ms: 5000, pid: session.pid, offset, received: '', receivesSince: 0 };
  keeper.onMessage(WORKER, { type: 'find', space, ...question });
  expect(await answered('found')).toMatchObject({ found: { outcome: 'packets missing' } });
  keeper.close();
});

test('after the clock was set back, what a new worker has sent is not taken for older than what a client has', async () => {
  const packets = new Packets(new PacketMemory(1e9), options);
  const now = Date.now();
  jest.spyOn(Date, 'now').mockReturnValue(now - 10_000);
  packets.begin(SENDER, 0);
  packets.add(SENDER, { number: 1, at: Date.now(), rooms: ['room'], except: [], packets: ['2["x"]'] });
  const found = async (question: object, rooms = ['room']) => {
    const session = { rooms, aliveAt: now, floors: undefined, alsoReceived: undefined };
    const offset = encodeOffset(now, '1', 0, new VersionVector());
    const asked = { offset, received: '', receivesSince: 0, askedAt: Number.POSITIVE_INFINITY, session, ...question };
    jest.spyOn(Date, 'now').mockReturnValue(now + 1);
    const { outcome } = await packets.missing(asked);
    return outcome;
  };
  expect(await found({})).toBe('packets missing');
  expect(await found({}, ['other'])).toBeUndefined();
  expect(await found({ askedAt: now })).toBeUndefined();
});

test('a clock that was set back is doubted for as long as its times are compared, and one that goes on is not', () => {
  const now = Date.now();
  const started = ticks();
  const clock = jest.spyOn(performance, 'now');
  const watch = new ClockWatch();
  const wasSetBackAfter = (ms: number, aheadMs: number) => {
    clock.mockReturnValue(started + ms);
    jest.spyOn(Date, 'now').mockReturnValue(now + ms + aheadMs);
    watch.look(5000);
    return watch.wasSetBack;
  };
  expect([wasSetBackAfter(10, 0), wasSetBackAfter(20, HOUR_MS), wasSetBackAfter(30, HOUR_MS - 600)]).toEqual([
    false,
    false,
    false,
  ]);
  expect([wasSetBackAfter(100, HOUR_MS - 1200), wasSetBackAfter(6000, HOUR_MS - 1200)]).toEqual([true, true]);
  expect(wasSetBackAfter(6400, HOUR_MS - 1200)).toBe(false);
});
