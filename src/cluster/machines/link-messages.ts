import { WORKER_NAME } from '../../base/worker-links.js';
import { MalformedMessage } from '../../errors.js';

/**
 * The link messages between workers of different machines: version (1 byte), type (1 byte), series (4 bytes), number (4 bytes),
 * part (1 byte), length of the sender's name (1 byte), the name, the payload. Numbers are little endian.
 */

export const linkMessageTypes = {
  /** A message. */
  message: 0,
  /** The sender is alive, and wants to know whether the receiver is. */
  beat: 1,
  /** The answer to a beat. */
  alive: 2,
  /** A link message of the receiver's series is missing. Not numbered itself; its series is that of the receiver. */
  reset: 3,
} as const;
export type LinkMessageType = (typeof linkMessageTypes)[keyof typeof linkMessageTypes];

export interface LinkMessage {
  type: LinkMessageType;
  /** The name of the sender. */
  from: string;
  /** A random number for an unbroken sequence of link messages from one worker to another. */
  series: number;
  /** Counts the link messages of the series from 0. */
  number: number;
  /** Which of the links of the worker a message is for. */
  part: number;
  payload: Uint8Array;
}

const VERSION = 1;
const HEADER = 12;

export function encodeLinkMessage({ type, from, series, number, part, payload }: LinkMessage): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER + from.length + payload.length);
  bytes[0] = VERSION;
  bytes[1] = type;
  bytes.writeUInt32LE(series, 2);
  bytes.writeUInt32LE(number, 6);
  bytes[10] = part;
  bytes[11] = from.length;
  bytes.write(from, HEADER, 'latin1');
  bytes.set(payload, HEADER + from.length);
  return bytes;
}

/** @throws MalformedMessage */
export function decodeLinkMessage(bytes: Buffer): LinkMessage & { payload: Buffer } {
  if (bytes.length < HEADER) throw new MalformedMessage('a link message is too short');
  if (bytes[0] !== VERSION) throw new MalformedMessage('a link message has an unknown version');
  const type = bytes[1] as LinkMessageType;
  if (type > linkMessageTypes.reset) throw new MalformedMessage('a link message has an unknown type');
  const end = HEADER + bytes[11]!;
  const from = bytes.toString('latin1', HEADER, end);
  if (WORKER_NAME.exec(from)?.[0] !== from) throw new MalformedMessage('a link message does not name its sender');
  const [series, number] = [bytes.readUInt32LE(2), bytes.readUInt32LE(6)];
  return { type, from, series, number, part: bytes[10]!, payload: bytes.subarray(end) };
}
