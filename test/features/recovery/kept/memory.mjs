// Measures what kept sessions and packets take in memory, beside what is counted, in a process without other tests.

import { Packets } from '../../../../build/features/recovery/keeper/packets.js';
import { SessionMemory, Sessions } from '../../../../build/features/recovery/keeper/sessions.js';
import { PacketMemory, Stream } from '../../../../build/features/recovery/keeper/stream.js';
import { codec, textPacker } from '../../../../build/features/recovery/messages.js';

function used() {
  global.gc();
  global.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const COUNT = 5000;

const empty = { packets: [], floor: 0, floorAt: 0, last: 0, lagMs: 0 };
const idOf = (number) => `${number}`.padStart(20, 'a');

const packetsOf = (session) =>
  [1, 2, 3].map((number) => ({
    ...{ number, at: Date.now() + number / 1024, rooms: [idOf(session)], except: [] },
    packets: number === 3 ? [`51-["n",{"_placeholder":true,"num":0}]`, Buffer.alloc(10)] : [`2["n",${session}]`],
  }));

const ofSessions = {
  little: () => ({}),
  'data and floors': (n) => ({
    data: { user: `ada${n}`, n },
    floors: [{ at: 1, numbers: '1.ab~2.cd', rooms: ['x'] }],
  }),
  'many rooms': (n) => ({ rooms: Array.from({ length: 50 }, (_, at) => `room ${at} of ${n}`) }),
  'maps, sets and dates': (n) => ({
    data: { map: new Map([[n, { n }]]), set: new Set([`x${n}`]), at: new Date() },
  }),
  'fields of its own': (n) => ({
    data: Object.fromEntries(packetsOf(n).map(({ number }) => [`${n} ${number}`, 1.5])),
  }),
  'many small values': () => ({ data: Array.from({ length: 50 }, () => ({})) }),
  'wide texts': (n) => ({ data: { text: `${n}${'ж'.repeat(300)}` } }),
  'bytes in its data': () => ({ data: { bytes: Buffer.alloc(100), text: 'x'.repeat(2000) } }),
  'packets of its own': (n) => ({ direct: { ...empty, packets: packetsOf(n), last: 3 } }),
};

/** Real bytes divided by counted ones, and what is still counted once all sessions are dropped. */
function measureSessions(of) {
  const memory = new PacketMemory(1e9);
  const sessionMemory = new SessionMemory(1e9);
  const sessions = new Sessions(
    sessionMemory,
    () => ({ maxSessions: 1e9, durationMs: 1e9 }),
    { covers: () => false },
    { add: () => {}, shrink: () => {} },
  );
  const before = used();
  for (let number = 0; number < COUNT; number++) {
    const session = {
      ...{ pid: idOf(number), sid: idOf(number), rooms: [idOf(number), 'room'], data: {}, worker: '2' },
      ...{ resumedFrom: undefined, disconnectedAt: Date.now(), aliveAt: Date.now(), direct: empty },
      ...{ address: '192.0.2.1', connection: idOf(number), ...of(number) },
    };
    session.data = textPacker.pack(session.data);
    // As it arrives from another worker, in a buffer with more than this message.
    const [message] = codec().decode(codec().encode([{ type: 'live', session }])[0]);
    sessions.put({ ...message.session, direct: Stream.of(message.session.direct, memory) });
  }
  const ratio = (used() - before) / (sessionMemory.bytes + memory.bytes);
  sessions.close();
  return { ratio, left: [sessionMemory.bytes, memory.bytes] };
}

const ofPackets = {
  text: (number) => [`2["n",${number},"${'x'.repeat(50)}"]`],
  'long text': (number) => [`2["n",${number},"${'x'.repeat(2000)}"]`],
  'wide text': (number) => [`2["n",${number},"${'ж'.repeat(200)}"]`],
  // As from a socket, which reads up to 64 KiB at once.
  'a small part of what was received': () => ['51-["n"]', Buffer.alloc(65_536).subarray(0, 20)],
};

function measurePackets(of, maxBytes, count) {
  const memory = new PacketMemory(maxBytes);
  const log = new Packets(memory, () => ({}));
  log.begin('2', 0);
  const before = used();
  for (let number = 1; number <= count; number++) {
    const packets = of(number).map((part) => (typeof part === 'string' ? Buffer.from(part).toString() : part));
    log.add('2', { number, at: Date.now() + number / 1024, rooms: [`room ${number}`], except: [], packets });
  }
  const ratio = (used() - before) / memory.bytes;
  const { bytes } = memory;
  log.close();
  return { ratio, bytes };
}

const MAX_BYTES = 3e6;

const measured = (cases, measure) => Object.fromEntries(Object.entries(cases).map(([name, of]) => [name, measure(of)]));

const report = {
  sessions: measured(ofSessions, (of) => {
    // The first round warms up: the code itself takes memory.
    measureSessions(of);
    return measureSessions(of);
  }),
  packets: measured(ofPackets, (of) => {
    measurePackets(of, 1e9, COUNT);
    const { ratio } = measurePackets(of, 1e9, COUNT);
    return { ratio, bounded: measurePackets(of, MAX_BYTES, 4 * COUNT), maxBytes: MAX_BYTES };
  }),
};
console.log(JSON.stringify(report));
process.exit();
