import { constants, deflateRawSync } from 'node:zlib';
import type { Writable } from '../../sockets.js';
import { viewOf } from '../bytes.js';

/** Opcodes of frames. Source: RFC 6455, section 5.2. */
export const opcodes = { text: 0x1, binary: 0x2, ping: 0x9, pong: 0xa } as const;

/** The longest head of a frame from a server, in bytes. */
const MAX_HEAD = 10;
const FINAL = 0x80;
/** The message is compressed. Source: RFC 7692, section 6. */
const COMPRESSED = 0x40;
/** How a compressed message ends before it is sent. Source: RFC 7692, section 7.2.1. */
const TAIL_BYTES = 4;

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
export function payloadOf(frame: Buffer): Buffer {
  const length = frame[1]!;
  return frame.subarray(length < 126 ? 2 : length === 126 ? 4 : MAX_HEAD);
}

/** The same frame with its payload compressed, without the context of other messages. Source: RFC 7692, section 7.2.1. */
export function compressedFrameOf(frame: Buffer): Buffer {
  const deflated = deflateRawSync(payloadOf(frame), { finishFlush: constants.Z_SYNC_FLUSH });
  return frameOf(deflated.subarray(0, -TAIL_BYTES), COMPRESSED | (frame[0]! & ~FINAL));
}
