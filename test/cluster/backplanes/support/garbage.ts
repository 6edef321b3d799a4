import { serialize } from 'node:v8';
import { Redis } from 'ioredis';
import { headOf, hubHead, hubNumbers, hubTypes } from '../../../../src/cluster/backplanes/frames/hub/entries.js';
import { encodeBroadcast } from '../../../../src/cluster/backplanes/frames/wire/broadcast.js';
import { encodeMessage, messageOf, types } from '../../../../src/cluster/backplanes/frames/wire/message.js';
import { defaultParser } from '../../../../src/cluster/backplanes/redis/redis-adapter.private.js';
import { frameHead, greeting } from '../../../../src/cluster/hub/hub-frame.js';

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

/** What the adapters that are built on ClusterAdapter must not accept. */
const clusterMessages: unknown[] = [
  null,
  [],
  5,
  'text',
  {},
  { uid: 'x', nsp: '/' },
  { uid: 5, nsp: '/', type: 3 },
  { uid: 'x', nsp: '/', type: '3', data: {} },
  ...[3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((type) => ({ uid: 'x', nsp: '/', type })),
  ...[3, 4, 5, 6, 7, 8, 9, 11].map((type) => ({ uid: 'x', nsp: '/', type, data: {} })),
  ...notPackets.map((packet) => ({ uid: 'x', nsp: '/', type: 3, data: { packet, opts } })),
  ...notPackets.map((packet) => ({ uid: 'x', nsp: '/', type: 3, data: { packet, opts, requestId: 'r' } })),
  ...notOptions.flatMap((opts) => [
    { uid: 'x', nsp: '/', type: 3, data: { packet: event, opts } },
    { uid: 'x', nsp: '/', type: 4, data: { rooms: ['a'], opts } },
    { uid: 'x', nsp: '/', type: 6, data: { close: true, opts } },
    { uid: 'x', nsp: '/', type: 7, data: { requestId: 'r', opts } },
  ]),
  { uid: 'x', nsp: '/', type: 8, data: { requestId: 'r', sockets: [null] } },
  { uid: 'x', nsp: '/', type: 9, data: { packet: ['connection', null] } },
  { uid: 'x', nsp: '/', type: 9, data: { packet: 'sum' } },
];

const broadcast = encodeBroadcast({
  ...{ nsp: '/', packetType: 2, rooms: ['room'], except: ['other'], flags: { volatile: true } },
  encoded: ['2["a"]', Buffer.from('bytes')],
});

/** What a broadcast must not be: incomplete, or with flags that are none. */
const notBroadcasts = [
  ...Array.from({ length: broadcast.length - 5 }, (_, length) => broadcast.subarray(5, 5 + length)),
  Buffer.concat([broadcast.subarray(5), Buffer.of(0)]),
  ...['x', 'null', '5', '{'].map((flags) => {
    const bytes = encodeBroadcast({ nsp: '/', packetType: 2, rooms: [], except: [], flags: { x: flags }, encoded: [] });
    const text = Buffer.from(JSON.stringify({ x: flags }));
    return Buffer.from(bytes.subarray(5)).fill(flags.padEnd(text.length), 10, 10 + text.length);
  }),
];

/** Messages within frames. */
const messages = [
  ...[null, undefined, 5, [], {}, ['2{'], [null], ['5']].map((value) => messageOf(types.cluster, serialize(value))),
  messageOf(types.cluster, Buffer.from('noise')),
  ...clusterMessages.filter((message) => message).map((message) => encodeMessage(message as never)),
  ...notBroadcasts.map((body) => messageOf(types.broadcast, body)),
  ...[types.added, types.removed, types.rooms, types.ping].map((type) => messageOf(type, Buffer.of(1, 2, 3))),
  messageOf(99, Buffer.alloc(4)),
];

/** Frames for the embedded backplane. An empty one has no message. */
export const frames: Uint8Array[] = [
  ...noise.filter(({ length }) => length > 0).map((bytes) => Buffer.from(bytes)),
  ...messages,
  messages[0]!.subarray(0, -1),
];

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
  const frame = (entries: Buffer) => {
    const head = frameHead({ ...name, type: 0, series: 1, number, time: 0 });
    number++;
    return Buffer.concat([head, entries]);
  };
  const forAll = headOf(0, 9, undefined);
  const entries = [
    hubNumbers(hubTypes.here, [9]),
    ...messages.map((message) => Buffer.concat([forAll, message])),
    Buffer.of(9, 0, 0, 0, 0, 0),
    forAll,
    forAll.subarray(0, 3),
    Buffer.concat([headOf(0, 9, [1, 2, 3]).subarray(0, 8), messages[0]!]),
    Buffer.concat([hubHead(0, 9), messageOf(types.ping, Buffer.of(1, 2, 3))]),
    Buffer.concat([hubHead(0, 9), messageOf(99, Buffer.alloc(4))]),
  ];
  const frames = [
    ...noise.map((bytes) => Buffer.from(bytes)),
    ...entries.map(frame),
    frame(forAll).fill(9, 0, 1),
    frame(forAll).fill(9, 1, 2),
    frame(forAll).fill(0, 2, 6),
  ];
  const common = [
    ...noise.map((bytes) => Buffer.from(bytes)),
    greeting(name).subarray(0, 9),
    greeting(name).fill(9, 1, 2),
  ];
  const all: [string, Buffer][] = [];
  for (const machine of machines) for (const bytes of frames) all.push([`socket.io:frames:hubs:${machine}`, bytes]);
  for (const bytes of common) all.push(['socket.io:frames:hubs', bytes]);
  return { all, each: messages.length };
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
