import { deserialize, serialize } from 'node:v8';
import type { ClusterMessage, ClusterResponse } from 'socket.io-adapter';
import { MalformedMessage } from '../../../../base/errors.js';
import { sendable } from '../../../../base/sendable.js';
import { Encoder, PacketType, TrustedDecoder } from '../../../../engine/parser/socket-io-parser.js';
import { decodePackets, type EncodedPackets } from '../../../../io/rooms/encoded-packet.js';
import { type SocketDetails, sendableSocket } from '../../../../io/socket-io.private.js';
import { checkClusterMessage } from '../../checks.js';
import { MessageType } from '../../message-type.js';

/** The name of every sender that is no worker. Socket.IO's adapters count no server of this name. */
export const EMITTER = 'emitter';

/**
 * What an emitter publishes on the channel on which all workers meet. Those that it is for are not known to it, so all
 * workers get it. It arrives on one way only, so it needs no number: the channel keeps the order of each connection.
 *
 * ```
 * version (1) │ messages
 * ```
 */
const VERSION = 1;

/** @param messages broadcasts, and messages between socket.io's adapters whose `uid` is {@link EMITTER} */
export function emittedFrame(messages: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.of(VERSION), ...messages]);
}

/**
 * Hands on the messages of an emitter.
 * @throws MalformedMessage if the bytes are incomplete, or have messages that only workers send
 */
export function readEmitted(bytes: Buffer, onMessage: (type: number, body: Buffer) => void): void {
  if (bytes[0] !== VERSION) throw new MalformedMessage('an emitter sends another wire');
  let at = 1;
  while (at < bytes.length) {
    const end = endOf(bytes, at);
    const type = bytes[at + 4]!;
    if (type > types.cluster) throw new MalformedMessage('an emitter sends a message that only workers send');
    onMessage(type, bytes.subarray(at + HEADER, end));
    at = end;
  }
}

export type Message = ClusterMessage | ClusterResponse;

const encoder = new Encoder();

/** The first byte of an event without attachments. It is followed by JSON. */
const EVENT = '2'.charCodeAt(0);

/**
 * Values of applications are encoded as for a client: as JSON with binary attachments. A structured clone would throw
 * on functions, and would not call the `toJSON` of objects.
 * @throws if a value cannot be encoded, such as BigInt
 */
export function encodeMessage(message: Message): Buffer {
  const packet = { type: PacketType.EVENT, nsp: '/', data: ['', message] };
  const encoded = encoder.encode(packet);
  const [text] = encoded;
  const bytes = encoded.length === 1 ? Buffer.from(text as string) : serialize(encoded);
  return messageOf(types.cluster, bytes);
}

/** An answer to another worker, which waits for it: what cannot be encoded is left out. */
export function encodeResponse(response: ClusterResponse): Buffer {
  try {
    return encodeMessage(response);
  } catch {
    return encodeMessage(sendableResponse(response));
  }
}

function sendableResponse(response: ClusterResponse): ClusterResponse {
  if (response.type !== MessageType.FETCH_SOCKETS_RESPONSE) return sendable(response, 'an acknowledgement');
  const { data } = response;
  return { ...response, data: { ...data, sockets: (data.sockets as SocketDetails[]).map(sendableSocket) } };
}

/**
 * @returns the message, and whether listeners of the application handle it
 * @throws Error if it is malformed
 */
export function decodeMessage(bytes: Buffer): { message: Message; isForApplication: boolean } {
  const isText = bytes[0] === EVENT;
  const [, message] = isText
    ? (JSON.parse(bytes.toString('utf8', 1)) as unknown[])
    : decodePackets(deserialize(bytes) as EncodedPackets, TrustedDecoder);
  return { message: message as Message, isForApplication: checkClusterMessage(message) };
}

/**
 * What workers exchange, in frames of many messages. A message is encoded once, whichever workers it is for.
 *
 * ```
 * message: length of the rest (4, little endian) │ type (1) │ body
 * ```
 */
export const types = {
  /** A broadcast that is already encoded for clients. */
  broadcast: 0,
  /** Any other message between socket.io's adapters. */
  cluster: 1,
  /** Rooms that the sender has members of from now on: since when on the receiver's clock, and their keys. */
  added: 2,
  /** Rooms that the sender has no members of any more. */
  removed: 3,
  /** All rooms that the sender has members of. */
  rooms: 4,
  /** Asks for a pong with the same number, once all messages before it are handled. */
  ping: 7,
  pong: 8,
} as const;

/** Whether a message is about the rooms of the worker or machine that it comes from, and not for applications. */
export const isOfInterest = (type: number): boolean => type >= types.added && type <= types.pong;

export const HEADER = 5;

/** Writes the header of a message whose body is in its place. */
export function finish(message: Buffer, type: number): Buffer {
  message.writeUInt32LE(message.length - 4, 0);
  message[4] = type;
  return message;
}

export function messageOf(type: number, body: Uint8Array): Buffer {
  const message = Buffer.allocUnsafe(HEADER + body.length);
  message.set(body, HEADER);
  return finish(message, type);
}

/** A message of numbers of 32 bits. */
export function numbersMessage(type: number, numbers: Iterable<number>): Buffer {
  const all = [...numbers];
  const message = Buffer.allocUnsafe(HEADER + 4 * all.length);
  for (const [index, number] of all.entries()) message.writeInt32LE(number, HEADER + 4 * index);
  return finish(message, type);
}

/** @throws MalformedMessage if the body does not consist of numbers */
export function numbersOf(body: Buffer): number[] {
  if (body.length % 4 !== 0) throw new MalformedMessage('the numbers of a message are incomplete');
  const numbers: number[] = [];
  for (let at = 0; at < body.length; at += 4) numbers.push(body.readInt32LE(at));
  return numbers;
}

/**
 * The end of the message that starts at `at`.
 * @throws MalformedMessage if there is no complete message
 */
export function endOf(frame: Buffer, at: number): number {
  if (frame.length - at < HEADER) throw new MalformedMessage('a frame ends within a message');
  const length = frame.readUInt32LE(at);
  const end = at + 4 + length;
  if (length === 0 || end > frame.length) throw new MalformedMessage('a frame ends within a message');
  return end;
}
