import { afterEach, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { Waits } from '../../../../src/features/recovery/kept/expiries.js';
import { PacketLog } from '../../../../src/features/recovery/kept/packet-log.js';
import { PacketMemory, Stream } from '../../../../src/features/recovery/kept/stream.js';
import { decodeOffset, encodeOffset } from '../../../../src/features/recovery/offset.js';
import { ForeignMessages } from '../../../../src/features/recovery/returns/foreign.js';
import { missedBy, returningOf } from '../../../../src/features/recovery/returns/missed.js';

afterEach(() => {
  jest.useRealTimers();
});

const content = { rooms: [], except: [], packets: ['2["x"]'] };

function logOf(worker: string, maxBytes = 1e6): PacketLog {
  const log = new PacketLog(worker, new PacketMemory(maxBytes), () => 60_000);
  log.start();
  return log;
}

/** The numbers of the packets that a client with this offset lacks. */
function missed(log: PacketLog, text: string, aliveAt = Date.now()): number[] | undefined {
  return log.after(decodeOffset(text)!, aliveAt)?.map(([, { number }]) => number);
}

test('an offset can be read again, and nothing else can', () => {
  const senders = new Map([
    ['1', 5],
    ['a_-Z', 2 ** 40],
  ]);
  const text = encodeOffset(1_700_000_000_000.5, '4', 77, senders);
  expect(decodeOffset(text)).toEqual({ at: 1_700_000_000_000, worker: '4', direct: 77, senders });
  const wrong = ['', 'g', 'g~', 'g~1', 'g~1~', 'g~1~4', 'g~1~4.', 'g~1~.5', 'g~1~4.5~', 'g~1~4.5~x', 'g~1~4.-5'];
  for (const other of [...wrong, '1.5', 'hello', `${text}~__proto__`, `${text} `, 'g~1~4.5'.padEnd(20_000, '~1.1')]) {
    expect(decodeOffset(other)).toBeUndefined();
  }
});

test('a log knows when what it lacks of a new sender was sent', () => {
  const now = Date.now();
  const offset = `g~${(now - 30_000).toString(36)}~1.0`;
  const missedOf = (sentBefore?: number) => {
    const log = logOf('1');
    log.since = now - 50_000;
    log.add(sentBefore === undefined ? ['2', 15, now] : ['2', 15, now, sentBefore], content);
    return missed(log, offset, now - 30_000);
  };
  // Before this worker received anything; since then, so that it has lost it; and not known, from an older version.
  expect([now - 60_000, now - 1000, undefined].map(missedOf)).toEqual([[15], undefined, [15]]);
});

test('each broadcast carries the time of the one before', () => {
  const log = logOf('1');
  const [first, second, third] = [log.nextMark(), log.nextMark(), log.nextMark()];
  expect([first[3], second[3], third[3]]).toEqual([undefined, first[2], second[2]]);
});

test('a log knows what a client lacks of each sender', () => {
  const log = logOf('1');
  for (const number of [1, 2, 3]) log.add(['2', number, Date.now()], content);
  const first = log.offset(Date.now());
  log.add(['2', 4, Date.now()], content);
  log.add(['3', 1, Date.now()], content);
  expect(missed(log, first)).toEqual([4, 1]);
  expect(missed(log, log.offset(Date.now()))).toEqual([]);
  expect(log.add(['2', 4, Date.now()], content)).toBe(false);
});

test('a gap makes recovery fail for clients that may lack something of it', () => {
  const log = logOf('1');
  log.since = 0;
  log.add(['2', 1, Date.now()], content);
  const before = log.offset(Date.now());
  const aliveAt = Date.now();
  log.add(['2', 3, Date.now()], content);
  const behind = log.offset(Date.now());
  log.add(['2', 4, Date.now()], content);
  expect(missed(log, before, aliveAt - 1)).toBeUndefined();
  expect(missed(log, behind, aliveAt - 1)).toEqual([4]);
});

test('a log that started after the client was last heard is not complete', () => {
  const log = logOf('1');
  expect(missed(log, log.offset(Date.now()), log.since - 1)).toBeUndefined();
  const taught = logOf('2');
  taught.since = 0;
  expect(missed(taught, log.offset(Date.now()), 1)).toEqual([]);
});

test('a worker waits until it has received what the client has', async () => {
  const [ahead, behind] = [logOf('1'), logOf('2')];
  for (const number of [1, 2]) ahead.add(['3', number, Date.now()], content);
  behind.add(['3', 1, Date.now()], content);
  const offset = decodeOffset(ahead.offset(Date.now()))!;
  const reached = behind.reached(offset);
  behind.add(['3', 2, Date.now()], content);
  expect(await reached).toBe(true);
  // What a client claims to have received may never come.
  const old = (sender: string) => decodeOffset(encodeOffset(Date.now() - 2000, '1', 0, [[sender, 9]]))!;
  expect(await behind.reached(old('3'))).toBe(false);
  // That sender was silent since this worker started.
  expect(await behind.reached(old('4'))).toBe(true);
  // What a killed worker has sent to its clients alone, nobody can send.
  behind.end('3');
  expect(await behind.reached(old('3'))).toBe(true);
});

test('a log that learns from another one knows the same', () => {
  const [teacher, learner] = [logOf('1'), logOf('2')];
  const start = teacher.offset(Date.now());
  for (let number = 1; number <= 5; number++) teacher.add(['3', number, Date.now()], content);
  for (const number of [4, 5, 6]) learner.add(['3', number, Date.now()], content);
  for (const state of teacher.state()) learner.learn(state);
  learner.since = teacher.since;
  expect(missed(learner, start)).toEqual([1, 2, 3, 4, 5, 6]);
});

test('a log takes no more memory than it may', () => {
  const memory = new PacketMemory(10_000);
  const log = new PacketLog('1', memory, () => 60_000);
  log.start();
  const start = log.offset(Date.now());
  for (let number = 1; number <= 1000; number++)
    log.add([number % 2 ? '2' : '3', Math.ceil(number / 2), Date.now()], content);
  expect(memory.bytes).toBeLessThanOrEqual(10_000);
  expect(memory.size).toBeGreaterThan(15);
  expect(missed(log, start, Date.now() - 1000)).toBeUndefined();
  log.close();
  expect([memory.bytes, memory.size]).toEqual([0, 0]);
});

test('a packet below the floor is not kept, so that its memory is not lost', () => {
  const memory = new PacketMemory(10_000);
  const stream = new Stream(memory);
  stream.cut(5, 0);
  for (const number of [4, 5]) stream.add({ number, at: number, ...content });
  expect([stream.kept.length, memory.bytes]).toEqual([0, 0]);
  stream.add({ number: 6, at: 6, ...content });
  expect(stream.kept.map(({ number }) => number)).toEqual([6]);
});

type Step = { stream: number; act: 'add' | 'learn' | 'cut' | 'release'; size: number; count: number };

test('whatever streams add, learn, drop and release, their memory is counted exactly and stays within its bound', () => {
  const step = fc.record({
    stream: fc.nat(2),
    act: fc.constantFrom<Step['act'][]>('add', 'add', 'add', 'learn', 'cut', 'release'),
    size: fc.nat(3000),
    count: fc.integer({ min: 1, max: 8 }),
  });
  const follow = (steps: readonly Step[]) => {
    const memory = new PacketMemory(10_000);
    const streams = Array.from({ length: 3 }, () => new Stream(memory));
    // Room for packets that are learned later.
    const next = streams.map(() => 1000);
    for (const { stream: index, act, size, count } of steps) {
      const stream = streams[index]!;
      const packetOf = (number: number) => ({ number, at: number, ...content, packets: ['x'.repeat(size)] });
      if (act === 'add') stream.add(packetOf(next[index]!++));
      else if (act === 'cut') stream.cut(stream.floor + count, 0);
      else if (act === 'release') stream.release();
      else {
        const first = stream.kept[0]?.number ?? next[index]!;
        const older = Array.from({ length: count }, (_, at) => packetOf(first - count + at));
        stream.prepend(older, first - count - 1, 0);
      }
      expect(memory.size).toBe(streams.reduce((sum, { kept }) => sum + kept.length, 0));
      expect(memory.bytes).toBeLessThanOrEqual(10_000);
    }
    for (const stream of streams) stream.release();
    expect([memory.bytes, memory.size]).toEqual([0, 0]);
  };
  fc.assert(fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), follow), { numRuns: 500 });
});

test('an offset that a worker has named counts if the client has answered a ping or had its own packets', () => {
  const memory = new PacketMemory(1e6);
  const log = logOf('3');
  log.since = 0;
  const at = Date.now();
  for (const number of [1, 2, 3]) log.add(['1', number, at + number], content);
  const sent = encodeOffset(at, '1', 4, [['1', 1]]);
  const named = encodeOffset(at + 10, '1', 5, [['1', 2]]);
  const direct = new Stream(memory);
  direct.add({ number: 1, at: at + 20, ...content });
  const back = (aliveAt: number, offset: string, resumedFrom = named) => {
    const times = { disconnectedAt: at + 1000, aliveAt };
    const session = { pid: 'p', sid: 's', rooms: [], data: {}, worker: '2', resumedFrom, ...times, direct, bytes: 0 };
    return returningOf(session, decodeOffset(offset)!, offset);
  };
  const returning = back(at + 10, sent)!;
  expect(
    missedBy(returning, log, new ForeignMessages(), 0)?.map(({ sender, packet }) => [sender, packet.number]),
  ).toEqual([
    ['1', 3],
    [undefined, 1],
  ]);
  // The next worker compares with the later offset, too.
  expect(returning.resumedFrom).toBe(named);
  // The client may have missed what was sent before to it alone.
  expect(back(at + 9, sent)).toBeUndefined();
  const complete = encodeOffset(at, '1', 5, [['1', 1]]);
  const behind = back(at + 9, complete)!;
  expect(missedBy(behind, log, new ForeignMessages(), 0)?.map(({ sender, packet }) => [sender, packet.number])).toEqual(
    [
      ['1', 2],
      ['1', 3],
      [undefined, 1],
    ],
  );
  expect(behind.resumedFrom).toBe(complete);
  expect(back(at + 9, encodeOffset(at, '4', 5, [['1', 1]]))).toBeUndefined();
  expect(back(at + 10, sent, '')).toBeUndefined();
  expect(back(at + 10, encodeOffset(at + 11, '1', 4, []))).toBeUndefined();
});

test('times of another clock, up to a second ahead, and messages that arrive late make no recovery incomplete', () => {
  const log = logOf('3');
  log.start();
  const foreign = new ForeignMessages();
  foreign.add({ at: log.since - 5000, rooms: ['a'], except: [] });
  const missed = (aliveAt: number, at: number) => {
    const state = { pid: 'p', sid: 's', data: {}, worker: '1', resumedFrom: undefined, disconnectedAt: at };
    const session = { ...state, rooms: ['a'], aliveAt, direct: new Stream(new PacketMemory(1e6)) };
    const offset = encodeOffset(at, '1', 0, [['1', 1]]);
    return missedBy(returningOf(session, decodeOffset(offset)!, offset)!, log, foreign, 2000)?.length;
  };
  // By its own clock, the worker of the client sent packet 2 before this worker started; by the other one, after that.
  log.add(['1', 3, log.since + 1500], content);
  expect(missed(log.since + 900, log.since + 900)).toBeUndefined();
  expect(missed(log.since + 2000, log.since + 2000)).toBe(1);
  // The message may have reached the client's worker after the client had left.
  expect(missed(log.since + 2000, log.since - 3100)).toBeUndefined();
  expect(missed(log.since + 2000, log.since - 2900)).toBe(1);
});

test('an offset names each worker once, and no more workers than there can be', () => {
  const named = (count: number) => Array.from({ length: count }, (_, one) => `~${one.toString(36)}.5`).join('');
  expect(decodeOffset(`g~1~4.5${named(512)}`)?.senders.size).toBe(512);
  expect(decodeOffset(`g~1~4.5${named(513)}`)).toBeUndefined();
  expect(decodeOffset('g~1~4.5~2.7~2.7')).toBeUndefined();
  expect(decodeOffset(`g~1~4.5~${'2'.repeat(5_000_000)}.7`)).toBeUndefined();
  for (const number of ['NaN', '-1', '1.5', 'zzzzzzzzzzz', 'Infinity', ''])
    expect(decodeOffset(`g~1~4.5~2.${number}`)).toBeUndefined();
  expect(Number.isSafeInteger(decodeOffset('g~zzzzzzzzzz~4.zzzzzzzzzz~2.zzzzzzzzzz')!.senders.get('2'))).toBe(true);
});

/** An offset that counts how often its senders are read. */
function crafted(numbers: readonly (readonly [string, number])[]) {
  const counts = { reads: 0 };
  class Counted extends Map<string, number> {
    override [Symbol.iterator]() {
      counts.reads++;
      return super[Symbol.iterator]();
    }
  }
  return { counts, offset: { at: Date.now(), worker: '1', direct: 0, senders: new Counted(numbers) } };
}

test('clients that wait make no broadcast more expensive', async () => {
  const log = logOf('1');
  log.add(['2', 1, Date.now()], content);
  const waiting = Array.from({ length: 100 }, (_, one) => {
    const { counts, offset } = crafted([['2', 1000 + one]]);
    return { counts, reached: log.reached(offset) };
  });
  const read = () => waiting.reduce((sum, { counts }) => sum + counts.reads, 0);
  const before = read();
  for (let number = 2; number <= 999; number++) log.add(['2', number, Date.now()], content);
  expect(read()).toBe(before);
  for (let number = 1000; number < 1100; number++) log.add(['2', number, Date.now()], content);
  expect(await Promise.all(waiting.map(({ reached }) => reached))).toEqual(Array(100).fill(true));
});

test('a client waits for no worker that cannot be', async () => {
  const log = new PacketLog(
    '1',
    new PacketMemory(1e6),
    () => 60_000,
    (name) => name === '3',
  );
  log.start();
  log.add(['1', 1, Date.now()], content);
  const many = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, one) => [`${prefix}${one}`, 9] as const);
  // A wait would not end.
  jest.useFakeTimers();
  expect(await log.reached(crafted([['4', 5]]).offset)).toBe(true);
  expect(await log.reached(crafted(many('x', 500)).offset)).toBe(true);
  // This worker itself has sent less.
  expect(await log.reached(crafted([['1', 2]]).offset)).toBe(false);
  for (const [sender] of many('y', 65)) log.add([sender, 1, Date.now()], content);
  expect(await log.reached(crafted(many('y', 65)).offset)).toBe(false);
  // One that has just started.
  const reached = log.reached(crafted([['3', 1]]).offset);
  log.add(['3', 2, Date.now()], content);
  expect(await reached).toBe(true);
  // What comes first may be later than what the client has received.
  const skipped = log.reached(crafted([['3', 4]]).offset);
  log.add(['3', 6, Date.now()], content);
  expect(await skipped).toBe(true);
});

test('beyond the maximum, the longest wait ends', async () => {
  const waits = new Waits(2);
  const [oldest, ...others] = [1, 2, 3].map((number) => waits.start(new Map([['2', number]]), 60_000));
  expect(await oldest).toBe('displaced');
  waits.received('2', 0, 10);
  expect(await Promise.all(others)).toEqual(['received', 'received']);
  expect(waits.size).toBe(0);
});
