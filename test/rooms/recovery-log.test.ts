import { expect, test } from '@jest/globals';
import { decodeOffset, encodeOffset } from '../../src/rooms/recovery/kept/offset.js';
import { PacketLog } from '../../src/rooms/recovery/kept/packet-log.js';
import { PacketMemory, Stream } from '../../src/rooms/recovery/kept/stream.js';
import { missedBy, returningOf } from '../../src/rooms/recovery/missed.js';

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
  expect(memory.size).toBeGreaterThan(20);
  expect(missed(log, start, Date.now() - 1000)).toBeUndefined();
  log.close();
  expect([memory.bytes, memory.size]).toEqual([0, 0]);
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
  expect(missedBy(returning, log, [])?.map(({ sender, packet }) => [sender, packet.number])).toEqual([
    ['1', 3],
    [undefined, 1],
  ]);
  // The next worker compares with the later offset, too.
  expect(returning.resumedFrom).toBe(named);
  // The client may have missed what was sent before to it alone.
  expect(back(at + 9, sent)).toBeUndefined();
  const complete = encodeOffset(at, '1', 5, [['1', 1]]);
  const behind = back(at + 9, complete)!;
  expect(missedBy(behind, log, [])?.map(({ sender, packet }) => [sender, packet.number])).toEqual([
    ['1', 2],
    ['1', 3],
    [undefined, 1],
  ]);
  expect(behind.resumedFrom).toBe(complete);
  expect(back(at + 9, encodeOffset(at, '4', 5, [['1', 1]]))).toBeUndefined();
  expect(back(at + 10, sent, '')).toBeUndefined();
  expect(back(at + 10, encodeOffset(at + 11, '1', 4, []))).toBeUndefined();
});
