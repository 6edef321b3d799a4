import { serialize } from 'node:v8';
import { Redis } from 'ioredis';
import { defaultParser } from '../../../../src/cluster/backplanes/redis/redis-adapter.private.js';
import { encodeBroadcast } from '../../../../src/cluster/wire/broadcast.js';
import { type Addressee, Envelope, numbers, pack, senderOf } from '../../../../src/cluster/wire/envelope.js';
import { frameHead } from '../../../../src/cluster/wire/hub-frame.js';
import { encodeMessage } from '../../../../src/cluster/wire/message.js';
import { types } from '../../../../src/cluster/wire/types.js';

const msgpack = defaultParser().encode;

const noise = ['', 'x', 'null', '[]', '{', '0', '"text"', Buffer.from([0xc1, 0xff, 0x00]), msgpack(null), msgpack([])];

const opts = { rooms: [], except: [], flags: {} };
const event = { type: 2, nsp: '/', data: ['event'] };
const notPackets = [
  { ...event, data: undefined },
  { ...event, data: ['connect'] },
  { ...event, data: [{}] },
  { ...event, type: 0 },
  { ...event, id: 'x' },
  5,
];
const notOptions = [null, 5, { rooms: 5 }, { except: {} }, { flags: 'x' }];

const {
  question,
  socketsJoin,
  socketsLeave,
  disconnectSockets,
  fetchSockets,
  fetchedSockets,
  serverSideEmit,
  clientCount,
} = types;

/** What the adapters must not accept: the type of a message, and its values. */
const notMessages: (readonly [type: number, ...values: unknown[]])[] = [
  ...[null, [], 5, {}].map((nsp) => [fetchSockets, nsp, { opts }] as const),
  ...[null, [], 5, 'text', undefined].map((data) => [types.greeted, '/', data] as const),
  ...[
    question,
    socketsJoin,
    socketsLeave,
    disconnectSockets,
    fetchSockets,
    fetchedSockets,
    serverSideEmit,
    clientCount,
  ].map((type) => [type, '/', {}] as const),
  ...notPackets.map((packet) => [question, '/', { packet, opts, requestId: 'r' }] as const),
  ...notOptions.flatMap((opts) => [
    [question, '/', { packet: event, opts }] as const,
    [socketsJoin, '/', { rooms: ['a'], opts }] as const,
    [disconnectSockets, '/', { close: true, opts }] as const,
    [fetchSockets, '/', { requestId: 'r', opts }] as const,
  ]),
  [fetchSockets, '/', { requestId: 5, opts }],
  [fetchedSockets, '/', { requestId: 'r', sockets: [null] }],
  [serverSideEmit, '/', { packet: ['connection', null] }],
  [serverSideEmit, '/', { packet: 'sum' }],
];

const packed = (type: number, body: string | Uint8Array, to: Addressee = 'all') =>
  pack({ type, part: 0, from: senderOf(9, 'machine2'), to }, body);
const headOf = (to?: Addressee) => ({ type: types.broadcast, part: 0, from: senderOf(9, 'machine2'), to });

const { body: broadcast } = Envelope.of(
  encodeBroadcast(
    {
      ...{ nsp: '/', packetType: 2, rooms: ['room'], except: ['other'], flags: { volatile: true } },
      encoded: ['2["a"]', Buffer.from('bytes')],
    },
    headOf(),
  ),
);

/** What a broadcast must not be: incomplete, or with flags that are none. */
const notBroadcasts = [
  ...Array.from({ length: broadcast.length }, (_, length) => broadcast.subarray(0, length)),
  Buffer.concat([broadcast, Buffer.of(0)]),
  ...['x', 'null', '5', '{'].map((flags) => {
    const value = { nsp: '/', packetType: 2, rooms: [], except: [], flags: { x: flags }, encoded: [] };
    const text = Buffer.from(JSON.stringify({ x: flags }));
    return Buffer.from(Envelope.of(encodeBroadcast(value, headOf())).body).fill(
      flags.padEnd(text.length),
      10,
      10 + text.length,
    );
  }),
];

/** Envelopes that no worker sends. */
export const envelopes: readonly Buffer[] = [
  ...[null, undefined, 5, [], {}, ['2{'], [null], ['5']].map((value) => packed(fetchSockets, serialize(value))),
  packed(fetchSockets, 'noise'),
  ...notMessages.map(([type, nsp, data]) => packed(type, textOf(nsp, data))),
  ...notBroadcasts.map((body) => packed(types.broadcast, body)),
  ...[types.added, types.removed, types.rooms, types.ping].map((type) => packed(type, Buffer.of(1, 2, 3))),
  packed(60, Buffer.alloc(4)),
];

function textOf(nsp: unknown, data: unknown): string | Uint8Array {
  return encodeMessage(nsp as string, (data ?? null) as never);
}

/** Publishes on the channels of `@socket.io/redis-adapter` what its adapters cannot decode, or not use. */
export async function onClassicRedis(url: string): Promise<number> {
  const undecodable = [Buffer.from([0xc1, 0xff, 0x00]), msgpack(['x', event, opts]).subarray(0, -1)];
  const unusable = [null, 5, {}, { type: 'x' }, { type: 5 }, { type: 7 }, { type: 6 }, { type: 2, opts, rooms: 5 }];
  return publishing(url, async (redis) => {
    const channels = ['socket.io#/#', 'socket.io-request#/#', 'socket.io-response#/#'];
    for (const channel of channels) {
      for (const message of [...undecodable, ...noise]) await redis.publish(channel, message);
      for (const value of unusable) await redis.publish(channel, JSON.stringify(value));
    }
    return channels.length * undecodable.length;
  });
}

/** Empty, of an unknown kind, parts without the one before, and parts of too many. */
export const notPayloads = [[], [9], [1], [2, 2], [1, 1, 0, 0, 0, 1, 0, 2, 0, 5], [1, 2, 0, 0, 0, 0, 0, 0, 0, 5]];

/** What another hub must not send to a hub, and its workers not to the workers. */
export function hubFrames(machines: readonly string[] = MACHINES): {
  all: [channel: string, bytes: Buffer][];
  each: number;
} {
  let number = 0;
  const name = { hub: 'hub-of-2', machine: 'machine2', life: 1 };
  const frame = (envelopes: Buffer) => {
    const head = frameHead({ ...name, type: types.frame, series: 1, number, time: 0 });
    number++;
    return Buffer.concat([head, envelopes]);
  };
  const ofHub = (type: number, body: Uint8Array) => pack({ type, part: 0, from: senderOf(0, 'machine2') }, body);
  const forAll = pack(headOf('all'));
  const contents = [
    ofHub(types.here, numbers([9])),
    ...envelopes,
    Buffer.from(forAll).fill(9, 4, 5),
    forAll.subarray(0, 3),
    pack(headOf([1, 2, 3])).subarray(0, 22),
    Buffer.from(pack(headOf([1, 2, 3]))).fill(9, 19, 20),
    ofHub(types.ping, Buffer.of(1, 2, 3)),
    ofHub(99, Buffer.of(1)),
  ];
  const frames = [
    ...noise.map((bytes) => Buffer.from(bytes)),
    ...contents.map(frame),
    frame(forAll).fill(9, 0, 1),
    frame(forAll).fill(9, 1, 2),
    frame(forAll).fill(0, 2, 6),
  ];
  const greeting = frameHead({ ...name, type: types.greeting, series: 0, number: 0, time: 0 });
  const common = [
    ...noise.map((bytes) => Buffer.from(bytes)),
    greeting.subarray(0, 9),
    Buffer.from(greeting).fill(9, 0, 1),
  ];
  const all: [string, Buffer][] = [];
  for (const machine of machines) for (const bytes of frames) all.push([`socket.io:frames:hubs:${machine}`, bytes]);
  for (const bytes of common) all.push(['socket.io:frames:hubs', bytes]);
  return { all, each: envelopes.length };
}

const MACHINES = ['machine0', 'machine1'];

/** Publishes on the channels of two machines, and on the one where their hubs meet. */
export async function onHubs(url: string): Promise<number> {
  return publishing(url, async (redis) => {
    const spy = redis.duplicate();
    // A hub without a subscription counts as gone.
    await spy.subscribe('socket.io:frames:hubs:machine2');
    const { all, each } = hubFrames(MACHINES);
    for (const [channel, bytes] of all) await redis.publish(channel, bytes);
    spy.disconnect();
    return each;
  });
}

async function publishing(url: string, publish: (redis: Redis) => Promise<number>): Promise<number> {
  const redis = new Redis(url);
  try {
    return await publish(redis);
  } finally {
    redis.disconnect();
  }
}
