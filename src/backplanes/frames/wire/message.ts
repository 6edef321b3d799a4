import { MalformedMessage } from '../../../errors.js';

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
  /** The checksum of all rooms that the sender has announced, and the time on the sender's clock. */
  checksum: 5,
  /** Asks for `rooms`. */
  missing: 6,
  /** Asks for a pong with the same number, once all messages before it are handled. */
  ping: 7,
  pong: 8,
  /** The sender ends. Only between machines. */
  bye: 9,
} as const;

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
