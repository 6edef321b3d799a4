/** Opcodes of WebSocket frames. Source: RFC 6455, section 5.2. */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

const FINAL = 0x80;
const MASKED = 0x80;
const EMPTY = Buffer.alloc(0);

/** A frame as a client would send it: masked, but with zeros, which leave the payload unchanged. */
export function clientFrame(opcode: number, payload: Buffer): Buffer {
  return Buffer.concat([frameHead(opcode, payload.length), payload]);
}

/** The head of such a frame. */
export function frameHead(opcode: number, length: number): Buffer {
  const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const head = Buffer.alloc(2 + lengthBytes + 4);
  head[0] = FINAL | opcode;
  if (lengthBytes === 0) {
    head[1] = MASKED | length;
  } else if (lengthBytes === 2) {
    head[1] = MASKED | 126;
    head.writeUInt16BE(length, 2);
  } else {
    head[1] = MASKED | 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return head;
}

/** The payload of a close frame. */
export function closePayload(code: number, reason: Buffer): Buffer {
  // 1005 stands for a frame without a code.
  if (code === 1005) return EMPTY;
  return Buffer.concat([Buffer.from([code >> 8, code & 0xff]), reason]);
}

/** A frame that a server wrote. */
export interface Frame {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly payload: Buffer;
}

/** Reads the frames of a server, which are not masked, from pieces of any size. */
export class FrameReader {
  private pieces: Buffer[] = [];
  private available = 0;
  /** The number of bytes without which the next frame cannot be complete. */
  private needed = 2;

  /** Adds a piece, and returns the frames that it completes. */
  push(piece: Buffer): Frame[] {
    this.pieces.push(piece);
    this.available += piece.length;
    const frames: Frame[] = [];
    if (this.available < this.needed) return frames;
    let data = this.pieces.length > 1 ? Buffer.concat(this.pieces) : piece;
    let end = endOf(data);
    while (data.length >= end) {
      frames.push({
        opcode: data[0]! & 0x0f,
        isFinal: (data[0]! & FINAL) !== 0,
        payload: data.subarray(startOf(data), end),
      });
      data = data.subarray(end);
      end = endOf(data);
    }
    this.needed = end;
    this.available = data.length;
    // A copy, because the application may reuse the memory of the piece.
    this.pieces = data.length > 0 ? [Buffer.from(data)] : [];
    return frames;
  }
}

/** The index at which the payload of the first frame starts. */
function startOf(data: Buffer): number {
  const short = data[1]! & 0x7f;
  return short < 126 ? 2 : short === 126 ? 4 : 10;
}

/** The index at which the first frame ends. Until its head is complete, the end of the head. */
function endOf(data: Buffer): number {
  if (data.length < 2) return 2;
  const start = startOf(data);
  if (data.length < start) return start;
  if (start === 2) return start + (data[1]! & 0x7f);
  return start + (start === 4 ? data.readUInt16BE(2) : Number(data.readBigUInt64BE(2)));
}
