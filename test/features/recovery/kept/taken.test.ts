import { expect, test } from '@jest/globals';
import { type KeptSession, TakenSessions } from '../../../../src/features/recovery/kept/sessions.js';
import { PacketMemory, Stream } from '../../../../src/features/recovery/kept/stream.js';

const memory = new PacketMemory(1e6);

function sessionOf(pid: string, recoveries?: number): KeptSession {
  const direct = new Stream(memory);
  direct.add({ number: 1, at: 1, rooms: ['sid'], except: [], packets: ['2["x"]'] });
  return {
    pid,
    sid: 'sid',
    rooms: [],
    data: {},
    worker: '1',
    resumedFrom: undefined,
    recoveries,
    disconnectedAt: 1,
    aliveAt: 1,
    direct,
  };
}

const startTaken = () => new TakenSessions({ maxSessions: 100 });

test('a session that a worker recovers is kept by its buddy until the worker tells the result, or is gone', () => {
  const taken = startTaken();
  for (const pid of ['ended', 'silent']) taken.addFor(3, { pid, recoveries: 1 }, sessionOf(pid));
  taken.addFor(4, { pid: 'another', recoveries: 1 }, sessionOf('another'));
  // All are told, the buddy too.
  for (const pid of ['ended', 'silent', 'another']) taken.add({ pid, recoveries: 1 });
  taken.end('ended');
  expect(['ended', 'silent', 'another'].map((pid) => taken.has(pid))).toEqual([false, true, true]);
  const kept = taken.takeFrom(3);
  expect(kept).toMatchObject([{ pid: 'silent', recoveries: 1 }]);
  expect(taken.takeFrom(3)).toEqual([]);
  for (const { direct } of kept) direct.release();
  taken.sweep(Date.now() + 1);
  expect(taken.has('another')).toBe(false);
  expect(memory.size).toBe(0);
});

test('what was sent before a session was taken is outdated, and what comes later is not', () => {
  const taken = startTaken();
  taken.add({ pid: 'a', recoveries: 2 });
  taken.add({ pid: 'a', recoveries: 1 });
  expect([undefined, 1, 2, 3].map((recoveries) => taken.isOutdated({ pid: 'a', recoveries }))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(taken.isOutdated({ pid: 'b' })).toBe(false);
  expect(taken.receive(sessionOf('a', 1), [1, 2])).toBeUndefined();
  expect([taken.has('a'), memory.size]).toEqual([false, 0]);
  taken.sweep(Date.now() + 1);
  expect(taken.isOutdated({ pid: 'a', recoveries: 1 })).toBe(false);
});

test('nothing is outdated by what an older version has taken, which counts no recoveries', () => {
  const taken = startTaken();
  taken.add({ pid: 'a', recoveries: 2 });
  taken.addFor(3, { pid: 'b' }, sessionOf('b'));
  for (const pid of ['a', 'b']) taken.add({ pid });
  expect(['a', 'b'].map((pid) => taken.isOutdated({ pid }))).toEqual([false, false]);
  expect(taken.has('b')).toBe(true);
  taken.close();
  expect(memory.size).toBe(0);
});

test('an outdated session is all that is left if the worker that took it is gone without a result', () => {
  const taken = startTaken();
  for (const pid of ['recovering', 'gone', 'ended']) taken.addFor(3, { pid, recoveries: 1 }, undefined);
  taken.end('ended');
  expect(taken.receive(sessionOf('ended'), [1, 2])).toBeUndefined();
  expect(taken.receive(sessionOf('recovering'), [1, 2, 3])).toBeUndefined();
  const lost = taken.receive(sessionOf('gone'), [1, 2]);
  const kept = taken.takeFrom(3);
  expect([lost, ...kept]).toMatchObject([
    { pid: 'gone', recoveries: 1 },
    { pid: 'recovering', recoveries: 1 },
  ]);
  for (const { direct } of [lost!, ...kept]) direct.release();
  expect(memory.size).toBe(0);
});

test('no more are remembered than sessions are kept', () => {
  const taken = new TakenSessions({ maxSessions: 2 });
  for (const pid of ['a', 'b', 'c']) taken.addFor(3, { pid, recoveries: 1 }, sessionOf(pid));
  expect(['a', 'b', 'c'].map((pid) => taken.has(pid))).toEqual([false, true, true]);
  taken.close();
  expect(memory.size).toBe(0);
});
