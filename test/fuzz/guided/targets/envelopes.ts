import { serialize } from 'node:v8';
import { MalformedMessage } from '../../../../src/base/errors.js';
import * as relay from '../../../../src/cluster/relay/messages.js';
import { decodeBroadcast, encodeBroadcast } from '../../../../src/cluster/wire/broadcast.js';
import {
  addressees,
  Envelope,
  forAll,
  type Head,
  lengthOf,
  numbers,
  numbersOf,
  pack,
  senderOf,
} from '../../../../src/cluster/wire/envelope.js';
import { emittedHead, frameHead, openHubFrame } from '../../../../src/cluster/wire/hub-frame.js';
import { decodeMessage, encodeAnswer, encodeMessage } from '../../../../src/cluster/wire/message.js';
import { EnvelopeStream, Outgoing } from '../../../../src/cluster/wire/stream.js';
import { types } from '../../../../src/cluster/wire/types.js';
import type { Target } from '../guide.js';
import { cut, expectSame, orRejected } from './same.js';

const isMalformed = (error: Error) => error instanceof MalformedMessage;
/** Of what is documented to throw any Error. */
const isError = () => true;

const from = senderOf(3, 'machine1');
const head = (type: number, to?: Head['to']): Head => ({ type, part: 2, from, to });
const receiver = { worker: 4, machine: 'machine2' };

const broadcast = {
  ...{ nsp: '/', packetType: 2, rooms: ['a', ''], except: ['é'], flags: { volatile: true } },
  encoded: ['2["a"]', Buffer.of(1, 2)],
};
const bodyOf = (given: Parameters<typeof encodeBroadcast>[0]) =>
  encodeBroadcast(given, head(types.broadcast)).subarray(lengthOf(head(types.broadcast)));

/** What a stream tells, if its bytes arrive in these parts. */
function streamed(parts: readonly Buffer[]): { whole: Buffer[]; malformed: number } {
  const heard = { whole: [] as Buffer[], malformed: 0 };
  const stream = new EnvelopeStream(
    (envelope) => {
      checkEnvelope(envelope);
      heard.whole.push(Buffer.from(envelope.whole));
    },
    (error) => {
      if (!isMalformed(error as Error)) throw error;
      heard.malformed++;
    },
  );
  for (const part of parts) stream.push(part);
  return heard;
}

/** What was read is packed as it was. */
function checkEnvelope(envelope: Envelope): void {
  const { addressee, type, part, sender, machine, body, whole } = envelope;
  const to = {
    [addressees.peer]: () => undefined,
    [addressees.all]: () => 'all' as const,
    [addressees.rooms]: () => envelope.keys,
    [addressees.worker]: () => envelope.receiver,
  }[addressee]!();
  expectSame(pack({ type, part, from: senderOf(sender, machine), to }, body), whole);
  const passed = Envelope.of(forAll(whole));
  expectSame([passed.type, passed.part, passed.body], [type, part, body]);
}

/** Envelopes that follow each other, on a link and in a frame. */
const envelopes: Target = {
  seeds: [
    Buffer.concat([
      pack(head(types.status), '{}'),
      pack(head(types.ping, 'all'), numbers([1])),
      pack(head(0, [3, 4]), 'a'),
    ]),
    Buffer.concat([pack(head(types.broadcast, receiver), Buffer.alloc(300, 1)), pack(head(types.rooms, []))]),
    Buffer.concat([pack(head(types.here, 'all'), numbers([1, 2])), Buffer.of(1, 0, 0, 0, 9), pack(head(1), 'a')]),
    Buffer.of(20, 0, 0, 0, 7, 1),
  ],
  run(input) {
    const whole = streamed([Buffer.from(input)]);
    for (const lengths of [[0], [2, 5], [40]]) expectSame(streamed(cut(input, lengths)), whole);
    const outgoing = new Outgoing();
    const reader = new Envelope(input);
    orRejected(() => {
      while (reader.next()) outgoing.add(reader);
      reader.expectEnd();
    }, isMalformed);
    outgoing.add(Buffer.of(1));
    expectSame(outgoing.take().at(-1), 1);
  },
};

const name = { hub: 'hub-0001', machine: 'machine1', life: 7, series: 2, number: 3, time: -4 };

/** Between the hubs of machines. */
const hubs: Target = {
  seeds: [
    emittedHead(),
    ...[types.greeting, types.frame, types.reset, types.bye].map((type) => frameHead({ ...name, type })),
  ],
  run(input) {
    const frame = orRejected(() => openHubFrame(input), isMalformed);
    if (!frame) return;
    const again = frameHead(frame);
    expectSame(again, input.subarray(0, again.length));
  },
};

const opts = { rooms: ['a'], except: [], flags: {} };
const packet = { type: 2, nsp: '/', data: ['a', 1], id: 3 };
const sockets = [{ id: 'a', rooms: ['a'], handshake: {}, data: { big: 1n } }];
const data = {
  opts,
  packet,
  rooms: ['b'],
  sockets: [{ id: 'a', rooms: ['a'] }],
  clientCount: 3,
  requestId: 'r',
  close: true,
};
const ofType = (type: number, body: string | Uint8Array) =>
  Buffer.concat([Buffer.of(type), Buffer.from(body as string)]);

/** What the messages of adapters consist of, behind their type. */
const bodies: Target = {
  seeds: [
    ofType(types.broadcast, bodyOf(broadcast)),
    ofType(types.broadcast, bodyOf({ ...broadcast, flags: {}, rooms: ['x'.repeat(30_000)] })),
    ...Array.from({ length: types.clientAnswer - types.greet + 1 }, (_, at) =>
      ofType(types.greet + at, encodeMessage('/', data)),
    ),
    ofType(types.socketsLeave, encodeMessage('/', { ...data, rooms: 'b', opts: { flags: null } })),
    ofType(types.serverSideEmit, encodeMessage('/', { ...data, packet: ['a', Buffer.of(1)] })),
    ofType(types.serverSideEmit, encodeMessage('/', { ...data, packet: ['connect'] })),
    ofType(types.fetchedSockets, encodeAnswer(types.fetchedSockets, '/', { sockets, requestId: 'r' })),
    ofType(types.serverSideAnswer, encodeAnswer(types.serverSideAnswer, '/', { packet: [1n], requestId: 'r' })),
    ofType(types.greet, encodeMessage('/')),
    ofType(types.added, numbers([1, -2])),
    ofType(types.question, serialize(['51-["",{"_placeholder":true,"num":0}]', 1])),
  ],
  run(input) {
    const body = input.subarray(1);
    const known = orRejected(() => decodeBroadcast(body), isError);
    if (known) expectSame(decodeBroadcast(bodyOf(known)), known);
    orRejected(() => decodeMessage(input[0] ?? 0, 'worker', body), isError);
    const all = orRejected(() => numbersOf(body), isMalformed);
    if (all) expectSame(Buffer.from(numbers(all)), body);
  },
};

const parts = { method: 'GET', url: '/', headers: {}, remoteAddress: '', encrypted: false };
const checks = [relay.asRequest, relay.asResponse, relay.asClose, relay.asProgress, relay.asHeaders];
const moving = { id: 'a', parts, additions: { names: [], values: {}, bare: [] } };
const ofRequest = (body: string | Uint8Array) => Buffer.concat([Buffer.of(5, 0, 0, 0), Buffer.from(body as string)]);
const relayed = (value: unknown, rest?: string | Buffer) => ofRequest(relay.encodeBody(value, rest));

/** What workers say of connections that they hold for one another. */
const relays: Target = {
  seeds: [
    ...[relayed({ parts, hops: 1 }, 'body'), relayed({ parts, hops: 2 }, Buffer.of(1)), relayed({ parts })],
    ...[relayed({ parts, bodyError: 'x', hops: 1 }), relayed({ parts: { ...parts, url: 1 } }), relayed([])],
    ...[relayed({ status: 200, headers: {}, isText: true }), relayed({ status: 'x' }), relayed(null), ofRequest('ä')],
    ...[relayed({ code: 1000, reason: 'x' }), relayed({ code: 'x' }), relayed({ received: 1, waiting: 2 })],
    ...[relayed({ received: 1 }), ofRequest(Buffer.from([1, 0, 0, 0, 123])), ofRequest(serialize(moving))],
    ...[ofRequest(serialize({ id: 1 })), ofRequest(serialize({ ...moving, additions: { names: 1, bare: [] } }))],
  ],
  run(input) {
    const decoded = orRejected(() => relay.decodeRelayMessage(input), isMalformed);
    if (!decoded) return;
    for (const check of checks) orRejected(() => relay.decodeBody<unknown>(decoded.body, check), isMalformed);
    orRejected(() => relay.decodeMove(decoded.body), isMalformed);
  },
};

export const envelopeTargets = { envelopes, hubs, bodies, relays };
