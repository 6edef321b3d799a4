import { afterEach, expect, jest, test } from '@jest/globals';
import { Heads } from '../../../../src/features/recovery/heads.js';
import { Packets } from '../../../../src/features/recovery/keeper/packets.js';
import { PacketMemory } from '../../../../src/features/recovery/keeper/stream.js';
import type { MissedQuestion } from '../../../../src/features/recovery/messages.js';
import { encodeNumbers, encodeOffset } from '../../../../src/features/recovery/offset.js';

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
  expect(heads.received).toBe(encodeNumbers([[SENDER, 5]]));
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
    offset: encodeOffset(at, '1', 0, received === undefined ? [] : [[SENDER, received]]),
    received: '',
    receivesSince: 0,
    session: { rooms: ['room'], aliveAt: at, floors: undefined, has: undefined, ...session },
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
