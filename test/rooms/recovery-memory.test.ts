import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { memoryOf } from '../../src/rooms/recovery/kept/memory.js';
import { PacketLog } from '../../src/rooms/recovery/kept/packet-log.js';
import { SessionMemory } from '../../src/rooms/recovery/kept/session-memory.js';
import { type KeptSession, Sessions } from '../../src/rooms/recovery/kept/sessions.js';
import { type KeptPacket, PacketMemory } from '../../src/rooms/recovery/kept/stream.js';
import {
  decodeMessage,
  encodeMessage,
  type RecoveryMessage,
  type SessionState,
} from '../../src/rooms/recovery/messages.js';
import { sessionOf } from '../../src/rooms/recovery/peers/session-state.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function used(): number {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const COUNT = 5000;
/** Counted memory may be more than there is. It may hardly be less. */
const MAX_RATIO = 1.4;
const MIN_RATIO = 0.4;

function expectTruth(real: number, counted: number): void {
  expect(real / counted).toBeLessThan(MAX_RATIO);
  expect(real / counted).toBeGreaterThan(MIN_RATIO);
}

const empty = { packets: [], floor: 0, floorAt: 0, last: 0, lastAt: 0 };
const idOf = (number: number) => `${number}`.padStart(20, 'a');

type Varying = Partial<Pick<SessionState, 'rooms' | 'data' | 'floors' | 'direct'>>;

const packetsOf = (session: number): KeptPacket[] =>
  [1, 2, 3].map((number) => ({
    ...{ number, at: Date.now() + number / 1024, rooms: [idOf(session)], except: [] },
    packets: number === 3 ? [`51-["n",{"_placeholder":true,"num":0}]`, Buffer.alloc(10)] : [`2["n",${session}]`],
  }));

test.each<[string, (number: number) => Varying]>([
  ['little', () => ({})],
  [
    'data and floors',
    (n) => ({ data: { user: `ada${n}`, n }, floors: [{ at: 1, numbers: '1.ab~2.cd', rooms: ['x'] }] }),
  ],
  ['many rooms', (n) => ({ rooms: Array.from({ length: 50 }, (_, at) => `room ${at} of ${n}`) })],
  ['maps, sets and dates', (n) => ({ data: { map: new Map([[n, { n }]]), set: new Set([`x${n}`]), at: new Date() } })],
  [
    'fields of its own',
    (n) => ({ data: Object.fromEntries(packetsOf(n).map(({ number }) => [`${n} ${number}`, 1.5])) }),
  ],
  ['many small values', () => ({ data: Array.from({ length: 50 }, () => ({})) })],
  ['wide texts', (n) => ({ data: { text: `${n}${'ж'.repeat(300)}` } })],
  ['bytes in its data', () => ({ data: { bytes: Buffer.alloc(100), text: 'x'.repeat(2000) } })],
  ['packets of its own', (n) => ({ direct: { ...empty, packets: packetsOf(n), last: 3 } })],
])('what a session takes with %s is what is counted', (_name, of) => {
  const memory = new PacketMemory(1e9);
  const sessionMemory = new SessionMemory<KeptSession>(1e9);
  const sessions = new Sessions(
    sessionMemory,
    1e9,
    () => 1e9,
    { covers: () => false },
    { add: () => {}, shrink: () => {} },
  );
  const before = used();
  for (let number = 0; number < COUNT; number++) {
    const session: SessionState = {
      ...{ pid: idOf(number), sid: idOf(number), rooms: [idOf(number), 'room'], data: {}, worker: '2' },
      ...{ resumedFrom: undefined, disconnectedAt: Date.now(), aliveAt: Date.now(), direct: empty },
      ...{ address: '192.0.2.1', connection: idOf(number), ...of(number) },
    };
    // As it arrives from another worker, in a buffer with more than this message.
    const bytes = encodeMessage({ nsp: '/', type: 'session', session });
    const message = decodeMessage(bytes) as Extract<RecoveryMessage, { type: 'session' }>;
    sessions.put(sessionOf(message.session, memory));
  }
  expectTruth(used() - before, sessionMemory.bytes + memory.bytes);
  sessions.close();
  expect([sessionMemory.bytes, memory.bytes]).toEqual([0, 0]);
});

test.each<[string, (number: number) => KeptPacket['packets']]>([
  ['text', (number) => [`2["n",${number},"${'x'.repeat(50)}"]`]],
  ['long text', (number) => [`2["n",${number},"${'x'.repeat(2000)}"]`]],
  ['wide text', (number) => [`2["n",${number},"${'ж'.repeat(200)}"]`]],
  // As from a socket, which reads up to 64 KiB at once.
  ['a small part of what was received', () => ['51-["n"]', Buffer.alloc(65_536).subarray(0, 20)]],
])('what packets take with %s is what is counted, and the bound holds', (_name, of) => {
  const ratios: number[] = [];
  // The first round warms up: the code itself takes memory. The last one has more than the bound allows.
  for (const [maxBytes, count] of [
    [1e9, COUNT],
    [1e9, COUNT],
    [1e9, COUNT],
    [1e9, COUNT],
    [3e6, 4 * COUNT],
  ] as const) {
    const memory = new PacketMemory(maxBytes);
    const log = new PacketLog('1', memory, () => 60_000);
    log.start();
    const before = used();
    for (let number = 1; number <= count; number++) {
      const packets = of(number).map((part) => (typeof part === 'string' ? Buffer.from(part).toString() : part));
      log.add(['2', number, Date.now() + number / 1024], { rooms: [`room ${number}`], except: [], packets });
    }
    ratios.push((used() - before) / memory.bytes);
    expect(memory.bytes).toBeLessThanOrEqual(maxBytes);
    log.close();
  }
  expect(ratios.pop()).toBeLessThan(MAX_RATIO);
  // What the process frees meanwhile for other reasons disturbs one round, but not two.
  expectTruth(median(ratios.slice(1)), 1);
});

const median = (values: number[]): number => values.sort((one, other) => one - other)[values.length >> 1]!;

test('the bound of sessions holds for all namespaces together, and the oldest are dropped', () => {
  const memory = new PacketMemory(1e9);
  const sessionMemory = new SessionMemory<KeptSession>(20_000);
  const start = () =>
    new Sessions(sessionMemory, 8, () => 1e9, { covers: () => false }, { add: () => {}, shrink: () => {} });
  const [first, second] = [start(), start()];
  const put = (sessions: Sessions, pid: string, size: number) => {
    const state = { pid, sid: pid, rooms: [], data: 'x'.repeat(size), worker: '2', resumedFrom: undefined };
    sessions.put(sessionOf({ ...state, disconnectedAt: Date.now(), aliveAt: 0, direct: empty }, memory));
  };
  const kept = () => [first, second].map((sessions) => [...sessions.all()].map(({ pid }: KeptSession) => pid).join(''));
  put(first, 'a', 5000);
  put(first, 'b', 5000);
  put(second, 'c', 5000);
  expect(kept()).toEqual(['ab', 'c']);
  put(second, 'd', 5000);
  expect([kept(), first.dropped, second.dropped]).toEqual([['b', 'cd'], 1, 0]);
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
  expect(memoryOf(data)).toBeGreaterThan(10_000);
  expect(memoryOf(data)).toBeLessThan(11_000);
});
