import { deserialize, serialize } from 'node:v8';
import { sendable } from '../../base/sendable.js';
import { Encoder, PacketType, TrustedDecoder } from '../../engine/parser/socket-io-parser.js';
import { decodePackets, type EncodedPackets } from '../../io/rooms/encoded-packet.js';
import { type SocketDetails, sendableSocket } from '../../io/socket-io.private.js';
import { checkMessage } from './checks.js';
import { types } from './types.js';

/** The fields of a message between servers. Which of them there are, its type says. */
export type Data = Readonly<Record<string, unknown>>;

/** What the servers of a namespace say to each other, besides broadcasts. */
export interface Message {
  readonly type: number;
  /** The worker that sends it. */
  readonly from: string;
  readonly nsp: string;
  readonly data: Data;
}

const encoder = new Encoder();

/** The first byte of an event without attachments. It is followed by JSON. */
const EVENT = '2'.charCodeAt(0);

/**
 * The body of a message. Values of applications are encoded as for a client: as JSON with binary attachments. A structured clone
 * would throw on functions, and would not call the `toJSON` of objects.
 * @throws if a value cannot be encoded, such as BigInt
 */
export function encodeMessage(nsp: string, data: Data = {}): string | Uint8Array {
  const encoded = encoder.encode({ type: PacketType.EVENT, nsp: '/', data: [nsp, data] });
  const [text] = encoded;
  return encoded.length === 1 ? (text as string) : serialize(encoded);
}

/** An answer to another worker, which waits for it: what cannot be encoded is left out. */
export function encodeAnswer(type: number, nsp: string, data: Data): string | Uint8Array {
  try {
    return encodeMessage(nsp, data);
  } catch {
    return encodeMessage(nsp, sendableAnswer(type, data));
  }
}

function sendableAnswer(type: number, data: Data): Data {
  if (type !== types.fetchedSockets) return sendable(data, 'an acknowledgement');
  return { ...data, sockets: (data.sockets as SocketDetails[]).map(sendableSocket) };
}

/** @throws Error if it is malformed */
export function decodeMessage(type: number, from: string, body: Buffer): Message {
  const isText = body[0] === EVENT;
  const [nsp, data] = isText
    ? (JSON.parse(body.toString('utf8', 1)) as unknown[])
    : decodePackets(deserialize(body) as EncodedPackets, TrustedDecoder);
  const message = { type, from, nsp, data };
  checkMessage(message);
  return message;
}
