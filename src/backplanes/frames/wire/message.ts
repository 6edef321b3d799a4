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
  /**
   * The sender has members of a room that is named like the id of a socket: a worker that has the socket announces the room, too.
   * For all workers, as the next one.
   */
  claim: 10,
  /** All workers have handled the claims of these rooms. */
  claimed: 11,
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

export function claimMessage(nsp: string, room: string): Buffer {
  return messageOf(types.claim, Buffer.from(JSON.stringify([nsp, room])));
}

/** @throws Error if the body is malformed */
export function claimOf(body: Buffer): [nsp: string, room: string] {
  const [nsp, room] = JSON.parse(body.toString()) as unknown[];
  if (typeof nsp !== 'string' || typeof room !== 'string') throw new MalformedMessage('a claim names no room');
  return [nsp, room];
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
