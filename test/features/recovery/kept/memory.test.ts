import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { machineTime } from '../../../../src/base/clock.js';
import { memoryOfData } from '../../../../src/features/recovery/keeper/memory.js';
import { type KeptSession, SessionMemory, Sessions } from '../../../../src/features/recovery/keeper/sessions.js';
import { PacketMemory, Stream } from '../../../../src/features/recovery/keeper/stream.js';
import '../../../support/long.js';

/** Counted memory may be more than there is. It may hardly be less. */
const MAX_RATIO = 1.4;
const MIN_RATIO = 0.4;

interface Report {
  sessions: Record<string, { ratio: number; left: number[] }>;
  packets: Record<string, { ratio: number; bounded: { ratio: number; bytes: number }; maxBytes: number }>;
}

// A process of its own: in this one, what other tests have left is freed in between.
const measured: Promise<Report> = promisify(execFile)(process.execPath, [
  '--expose-gc',
  fileURLToPath(new URL('memory.mjs', import.meta.url)),
]).then(({ stdout }) => JSON.parse(stdout));

function expectTruth(ratio: number | undefined): void {
  expect(ratio).toBeLessThan(MAX_RATIO);
  expect(ratio).toBeGreaterThan(MIN_RATIO);
}

test.each([
  'little',
  'data and floors',
  'many rooms',
  'maps, sets and dates',
  'fields of its own',
  'many small values',
  'wide texts',
  'bytes in its data',
  'packets of its own',
])('what a session takes with %s is what is counted', async (name) => {
  const { ratio, left } = (await measured).sessions[name]!;
  expectTruth(ratio);
  expect(left).toEqual([0, 0]);
});

test.each(['text', 'long text', 'wide text', 'a small part of what was received'])(
  'what packets take with %s is what is counted, and the bound holds',
  async (name) => {
    const { ratio, bounded, maxBytes } = (await measured).packets[name]!;
    expectTruth(ratio);
    expect(bounded.bytes).toBeLessThanOrEqual(maxBytes);
    expect(bounded.ratio).toBeLessThan(MAX_RATIO);
  },
);

test('the bound of sessions holds for all namespaces together, and the oldest are dropped', () => {
  const memory = new PacketMemory(1e9);
  const sessionMemory = new SessionMemory(20_000);
  const expired: string[] = [];
  const start = () =>
    new Sessions(
      sessionMemory,
      () => ({ maxSessions: 8, durationMs: 1e9 }),
      ({ pid }) => expired.push(pid),
    );
  const [first, second] = [start(), start()];
  const put = (sessions: Sessions, pid: string, size: number) => {
    const state = { pid, sid: pid, rooms: [], data: 'x'.repeat(size), worker: '2', resumedFrom: undefined };
    const direct = new Stream(memory);
    sessions.put({ ...state, disconnectedAt: machineTime(), aliveAt: 0, direct } as unknown as KeptSession);
  };
  const kept = () => [first, second].map((sessions) => [...sessions.all()].map(({ pid }: KeptSession) => pid).join(''));
  put(first, 'a', 5000);
  put(first, 'b', 5000);
  put(second, 'c', 5000);
  expect(kept()).toEqual(['ab', 'c']);
  put(second, 'd', 5000);
  expect([kept(), first.dropped, second.dropped, expired]).toEqual([['b', 'cd'], 1, 0, ['a']]);
  expect(sessionMemory.bytes).toBeLessThanOrEqual(20_000);
  // One that is too large for itself is not kept, and leaves nothing behind.
  put(first, 'e', 50_000);
  expect([kept(), sessionMemory.bytes]).toEqual([['', ''], 0]);
  for (let pid = 10; pid < 20; pid++) put(first, `${pid}`, 1);
  expect([first.size, first.dropped]).toEqual([8, 5]);
});

test('data that refers to itself, and what it refers to twice, is counted once', () => {
  const text = 'x'.repeat(10_000);
  const shared = { text };
  const data: Record<string, unknown> = { one: shared, two: shared };
  data.self = data;
  expect(memoryOfData(data)).toBeGreaterThan(10_000);
  expect(memoryOfData(data)).toBeLessThan(9 * 10_000);
});

test('data that cannot be read, or holds functions, counts as a little', () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const data = {
    proxy,
    get broken(): unknown {
      throw new Error('a getter');
    },
  };
  expect(memoryOfData(data)).toBeGreaterThan(0);
  expect(memoryOfData({ greet: () => 'hello' })).toBeGreaterThan(0);
});
