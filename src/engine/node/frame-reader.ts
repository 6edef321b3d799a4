import { isUtf8 } from 'node:buffer';
import { PartsOfBody } from '../incoming/parts-of-body.js';
import { COMPRESSED, FINAL, inflate, opcodes, unmask } from './frames.js';

/** What gets the frames of a WebSocket. */
export interface FrameTarget {
  /** Once it is false, the rest of what has arrived is ignored. */
  readonly isReading: boolean;
  /** Bytes of a message at most. */
  readonly maxPayload: number;
  /** Whether the client may compress messages. */
  readonly compresses: boolean;
  onMessage(data: Buffer, isBinary: boolean): void;
  /** A compressed message; see {@link inflated}. */
  onCompressed(data: Buffer, isBinary: boolean): void;
  onPing(data: Buffer): void;
  onPong(data: Buffer): void;
  onCloseFrame(code: number, reason: Buffer): void;
  /** The client has broken the protocol. `code` is that of the close frame it should get. */
  onFault(code: number, reason: string): void;
}

/** A frame or message of which a part is missing. */
export class Unfinished {
  /** The beginning of a frame. */
  readonly frame = new PartsOfBody();
  /** The payloads of the fragments that have come. */
  readonly fragments = new PartsOfBody();
  /** The first byte of the first fragment, or 0 if no message has begun. */
  first = 0;
}

/** Codes of close frames. Source: RFC 6455, section 7.4.1. */
export const closeCodes = { protocol: 1002, noStatus: 1005, abnormal: 1006, invalid: 1007, tooBig: 1009 } as const;

/** The shortest head of a frame, and the number of bytes of a mask. */
const LEAST_HEAD = 2;
const MASK_BYTES = 4;
const MASKED = 0x80;
const RESERVED = 0x30;
const CONTROL = 0x08;
const MAX_CONTROL_BYTES = 125;
const NOTHING = Buffer.alloc(0);

/**
 * Reads the frames of a client. What it knows of a WebSocket between two calls is only what is unfinished, which most have
 * nothing of. Source: RFC 6455, section 5.
 * @param before what the last call has returned
 * @returns what is unfinished, to be passed to the next call
 */
export function readFrames(chunk: Buffer, before: Unfinished | undefined, target: FrameTarget): Unfinished | undefined {
  let unfinished = before;
  let at = 0;
  if (unfinished && unfinished.frame.length > 0) {
    at = completeFrame(unfinished, chunk, target);
    if (at === INCOMPLETE) return unfinished;
    const frame = unfinished.frame.take();
    unfinished = onFrame(frame, 0, frame.length, unfinished, target);
  }
  while (at < chunk.length && target.isReading) {
    const length = frameLength(chunk, at, chunk.length, unfinished, target);
    if (length === FAULTY) return undefined;
    if (at + length > chunk.length) {
      unfinished ??= new Unfinished();
      unfinished.frame.add(chunk.subarray(at));
      return unfinished;
    }
    unfinished = onFrame(chunk, at, at + length, unfinished, target);
    at += length;
  }
  const isNeeded = target.isReading && unfinished && (unfinished.first !== 0 || unfinished.frame.length > 0);
  return isNeeded ? unfinished : undefined;
}

const INCOMPLETE = -1;
const FAULTY = -1;

/** Adds what is missing of a frame. Returns where the next one begins, or that it is still incomplete. */
function completeFrame(unfinished: Unfinished, chunk: Buffer, target: FrameTarget): number {
  const { frame } = unfinished;
  for (let at = 0; ; ) {
    const known = frame.soFar;
    const length = frameLength(known, 0, known.length, unfinished, target);
    if (length === FAULTY) return INCOMPLETE;
    const missing = length - known.length;
    if (missing === 0) return at;
    if (at === chunk.length) return INCOMPLETE;
    frame.add(chunk.subarray(at, at + missing));
    at = Math.min(at + missing, chunk.length);
  }
}

/**
 * How long a frame is with its head, or, if the head is incomplete, how much of it is needed at least. Reports a frame
 * that is not allowed, whatever follows its head.
 */
function frameLength(
  bytes: Buffer,
  start: number,
  end: number,
  unfinished: Unfinished | undefined,
  target: FrameTarget,
): number {
  if (end - start < LEAST_HEAD) return LEAST_HEAD;
  const first = bytes[start]!;
  const short = bytes[start + 1]! & ~MASKED;
  const fault = faultOf(first, bytes[start + 1]!, unfinished, target);
  if (fault) return fail(target, closeCodes.protocol, fault);
  const head = LEAST_HEAD + (short === 126 ? 2 : short === 127 ? 8 : 0) + MASK_BYTES;
  if (end - start < head) return head;
  const length = short === 126 ? bytes.readUInt16BE(start + 2) : short === 127 ? longLength(bytes, start + 2) : short;
  const before = (first & CONTROL) === 0 && unfinished ? unfinished.fragments.length : 0;
  if (before + length > target.maxPayload && (first & CONTROL) === 0) return failAsTooBig(target);
  return head + length;
}

const longLength = (bytes: Buffer, at: number) => bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);

function faultOf(
  first: number,
  second: number,
  unfinished: Unfinished | undefined,
  target: FrameTarget,
): string | undefined {
  const opcode = first & 0x0f;
  const hasBegun = unfinished !== undefined && unfinished.first !== 0;
  if ((first & RESERVED) !== 0) return 'a reserved bit';
  if ((second & MASKED) === 0) return 'a frame without a mask';
  if ((first & COMPRESSED) !== 0 && (!target.compresses || opcode === 0 || opcode > opcodes.binary))
    return 'a reserved bit';
  if ((opcode & CONTROL) !== 0) {
    if (opcode > opcodes.pong) return 'an unknown opcode';
    if ((first & FINAL) === 0) return 'a fragment of a control frame';
    return (second & ~MASKED) > MAX_CONTROL_BYTES ? 'a control frame that is too long' : undefined;
  }
  if (opcode > opcodes.binary) return 'an unknown opcode';
  if (opcode === opcodes.continuation) return hasBegun ? undefined : 'a continuation of nothing';
  return hasBegun ? 'a message within another' : undefined;
}

/** Handles a whole frame. Returns what is unfinished after it. */
function onFrame(
  bytes: Buffer,
  start: number,
  end: number,
  unfinished: Unfinished | undefined,
  target: FrameTarget,
): Unfinished | undefined {
  const first = bytes[start]!;
  const short = bytes[start + 1]! & ~MASKED;
  const maskAt = start + LEAST_HEAD + (short === 126 ? 2 : short === 127 ? 8 : 0);
  const payloadAt = maskAt + MASK_BYTES;
  unmask(bytes, maskAt, payloadAt, end);
  const payload = bytes.subarray(payloadAt, end);
  const opcode = first & 0x0f;
  if ((opcode & CONTROL) !== 0) {
    onControlFrame(opcode, payload, target);
    return unfinished;
  }
  if ((first & FINAL) !== 0 && opcode !== opcodes.continuation) {
    onMessage(first, payload, target);
    return unfinished;
  }
  const message = unfinished ?? new Unfinished();
  if (opcode !== opcodes.continuation) message.first = first;
  // A message has one part at least, because an empty one says nothing of the memory that it takes.
  if (payload.length > 0) message.fragments.add(payload);
  if ((first & FINAL) === 0) return message;
  onMessage(message.first, message.fragments.take(), target);
  return undefined;
}

function onMessage(first: number, payload: Buffer, target: FrameTarget): void {
  const isBinary = (first & 0x0f) === opcodes.binary;
  if ((first & COMPRESSED) !== 0) target.onCompressed(payload, isBinary);
  else if (isReadable(payload, isBinary, target)) target.onMessage(payload, isBinary);
}

function isReadable(content: Buffer, isBinary: boolean, target: FrameTarget): boolean {
  if (isBinary || isUtf8(content)) return true;
  fail(target, closeCodes.invalid, 'text that is not UTF-8');
  return false;
}

/** The content of a compressed message; undefined if it is faulty. */
export function inflated(payload: Buffer, isBinary: boolean, target: FrameTarget): Buffer | undefined {
  try {
    const content = inflate(payload, target.maxPayload);
    return isReadable(content, isBinary, target) ? content : undefined;
  } catch (error) {
    const isTooBig = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    if (isTooBig) failAsTooBig(target);
    else fail(target, closeCodes.invalid, 'a message that cannot be decompressed');
    return undefined;
  }
}

function onControlFrame(opcode: number, payload: Buffer, target: FrameTarget): void {
  if (opcode === opcodes.ping) return target.onPing(payload);
  if (opcode === opcodes.pong) return target.onPong(payload);
  if (payload.length === 0) return target.onCloseFrame(closeCodes.noStatus, NOTHING);
  const code = payload.length > 1 ? payload.readUInt16BE(0) : 0;
  const reason = payload.subarray(2);
  if (!isCloseCode(code)) fail(target, closeCodes.protocol, 'an invalid close frame');
  else if (!isUtf8(reason)) fail(target, closeCodes.invalid, 'text that is not UTF-8');
  else target.onCloseFrame(code, reason);
}

/** Whether a client may send a code. Source: RFC 6455, section 7.4, and the registry of IANA. */
const isCloseCode = (code: number) =>
  (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999);

function fail(target: FrameTarget, code: number, what: string): typeof FAULTY {
  target.onFault(code, `Received an invalid frame: ${what}`);
  return FAULTY;
}

/** With the reason of uWebSockets.js. */
function failAsTooBig(target: FrameTarget): typeof FAULTY {
  target.onFault(closeCodes.tooBig, 'Received too big message');
  return FAULTY;
}
