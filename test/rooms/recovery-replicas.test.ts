import { expect, test } from '@jest/globals';
import type { KeptSession } from '../../src/rooms/recovery/kept/sessions.js';
import { PacketMemory, Stream } from '../../src/rooms/recovery/kept/stream.js';
import { Replicas } from '../../src/rooms/recovery/replicas.js';

const memory = new PacketMemory(1e6);

function sessionOf(pid: string, disconnectedAt = Date.now()): KeptSession {
  const direct = new Stream(memory);
  direct.add({ number: 1, at: 1, rooms: ['sid'], except: [], packets: ['2["x"]'] });
  const times = { disconnectedAt, aliveAt: disconnectedAt };
  return { pid, sid: 'sid', rooms: [], data: {}, worker: '1', resumedFrom: undefined, ...times, direct, bytes: 0 };
}

test('a session that a worker recovers is kept until the worker tells the result, or is gone', () => {
  const replicas = new Replicas(memory);
  const [connected, rejected, silent, lost] = ['a', 'b', 'c', 'd'].map((pid) => sessionOf(pid));
  for (const session of [connected!, rejected!, silent!]) replicas.keepTaken(3, session);
  replicas.keepTaken(4, lost!);
  replicas.keepTaken(3, sessionOf('old', 1000));
  expect(memory.size).toBe(5);
  const state = { pid: 'a', sid: 'sid', rooms: [], data: {}, resumedFrom: undefined, aliveAt: 1, floor: 0, floorAt: 0 };
  replicas.apply(3, { type: 'live', nsp: '/', worker: '3', isFirst: true, sessions: [state], direct: [], gone: [] });
  replicas.drop('b');
  replicas.sweep(2000);
  expect(['a', 'b', 'c', 'd', 'old'].filter((pid) => replicas.has(pid))).toEqual(['a', 'c', 'd']);
  expect(replicas.takeTaken(3)).toEqual([silent]);
  expect(replicas.takeAll(3)).toMatchObject([{ pid: 'a', worker: '3' }]);
  expect(replicas.has('c')).toBe(false);
  silent!.direct.release();
  replicas.close();
  expect(memory.size).toBe(0);
});
