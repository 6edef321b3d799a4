import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { bufferOver } from '../../base/bytes.js';
import type { Writable } from '../uws/app.js';

/** Opcodes of frames. Source: RFC 6455, section 5.2. */
export const opcodes = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const;

/** The longest head of a frame from a server, in bytes. */
const MAX_HEAD = 10;
export const FINAL = 0x80;
/** The message is compressed. Source: RFC 7692, section 6. */
export const COMPRESSED = 0x40;
/** How a compressed message ends before it is sent. Source: RFC 7692, section 7.2.1. */
const TAIL = Buffer.from([0, 0, 0xff, 0xff]);

/**
 * The bytes as they are, without a copy where possible.
 * @throws TypeError as uWebSockets.js does, for what is neither text nor bytes
 */
export function viewOf(value: Writable): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : bufferOver(value);
  if (bytes) return bytes;
  throw new TypeError('Text and data can only be passed by String, ArrayBuffer or TypedArray.');
}

/** A whole message as one unmasked frame. Source: RFC 6455, section 5.2. */
export function frameOf(message: Writable, opcode: number): Buffer {
  const content = typeof message === 'string' ? message : viewOf(message);
  const length = Buffer.byteLength(content);
  const start = length < 126 ? 2 : length < 65_536 ? 4 : MAX_HEAD;
  const frame = Buffer.allocUnsafe(start + length);
  frame[0] = FINAL | opcode;
  if (start === 2) frame[1] = length;
  else if (start === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeUInt32BE(0, 2);
    frame.writeUInt32BE(length, 6);
  }
  // The frame's memory is not cleared: the content must fill all of it.
  if (typeof content === 'string') frame.write(content, start);
  else frame.set(content, start);
  return frame;
}

/** The payload of a frame that `frameOf` has made. */
function payloadOf(frame: Buffer): Buffer {
  const length = frame[1]!;
  return frame.subarray(length < 126 ? 2 : length === 126 ? 4 : MAX_HEAD);
}

/** The same frame with its payload compressed, without the context of other messages. Source: RFC 7692, section 7.2.1. */
export function compressedFrameOf(frame: Buffer): Buffer {
  const deflated = deflateRawSync(payloadOf(frame), { finishFlush: constants.Z_SYNC_FLUSH });
  return frameOf(deflated.subarray(0, -TAIL.length), COMPRESSED | (frame[0]! & ~FINAL));
}

/**
 * The payload of a compressed message. Source: RFC 7692, section 7.2.2.
 * @param maxLength in bytes
 * @throws an error of zlib; its code is ERR_BUFFER_TOO_LARGE for a longer one
 */
export function inflate(payload: Buffer, maxLength: number): Buffer {
  const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: maxLength };
  return inflateRawSync(Buffer.concat([payload, TAIL]), options);
}

/** The payload of a close frame. Without a code it is empty. Source: RFC 6455, section 5.5.1. */
export function closePayload(code: number | undefined, reason: Uint8Array): Buffer {
  if (code === undefined) return Buffer.alloc(0);
  const payload = Buffer.allocUnsafe(2 + reason.length);
  payload.writeUInt16BE(code, 0);
  payload.set(reason, 2);
  return payload;
}

/** Below this number of bytes, one by one is as fast. */
const MIN_WORDS = 64;

/** Takes the mask off a payload, in place. Source: RFC 6455, section 5.3. */
export function unmask(bytes: Buffer, maskAt: number, start: number, end: number): void {
  const first = bytes[maskAt]!;
  const second = bytes[maskAt + 1]!;
  const third = bytes[maskAt + 2]!;
  const fourth = bytes[maskAt + 3]!;
  if (end - start >= MIN_WORDS) return unmaskWords(bytes, [first, second, third, fourth], start, end);
  let at = start;
  for (; at + 4 <= end; at += 4) {
    bytes[at]! ^= first;
    bytes[at + 1]! ^= second;
    bytes[at + 2]! ^= third;
    bytes[at + 3]! ^= fourth;
  }
  if (at < end) bytes[at++]! ^= first;
  if (at < end) bytes[at++]! ^= second;
  if (at < end) bytes[at]! ^= third;
}

/** The same, four bytes at a time. */
function unmaskWords(bytes: Buffer, mask: readonly number[], start: number, end: number): void {
  const skipped = -(bytes.byteOffset + start) & 3;
  const firstWord = start + skipped;
  const words = (end - firstWord) >> 2;
  for (let at = start; at < firstWord; at++) bytes[at]! ^= mask[at - start]!;
  const turned = Uint8Array.from([0, 1, 2, 3], (index) => mask[(index + skipped) & 3]!);
  const [word = 0] = new Uint32Array(turned.buffer);
  const view = new Uint32Array(bytes.buffer, bytes.byteOffset + firstWord, words);
  for (let index = 0; index < words; index++) view[index]! ^= word;
  for (let at = firstWord + words * 4; at < end; at++) bytes[at]! ^= mask[(at - start) & 3]!;
}
