/** Opcodes of WebSocket frames. Source: RFC 6455, section 5.2. */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

const FINAL = 0x80;
const MASKED = 0x80;
const EMPTY = Buffer.alloc(0);

/** A frame as a client would send it: masked, with zeros, so that the payload stays as it is. */
export function clientFrame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
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
  return Buffer.concat([head, payload]);
}

/** The payload of a close frame. */
export function closePayload(code: number, reason: Buffer): Buffer {
  // 1005 stands for a frame without a code.
  if (code === 1005) return EMPTY;
  return Buffer.concat([Buffer.from([code >> 8, code & 0xff]), reason]);
}

/** A frame that a server has written. */
export interface Frame {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly payload: Buffer;
}

/** Reads the frames that a server writes, which are not masked, from pieces of any size. */
export class FrameReader {
  private rest = EMPTY;

  /** Takes a piece, and returns the frames that are complete with it. */
  push(piece: Buffer): Frame[] {
    let data = this.rest.length > 0 ? Buffer.concat([this.rest, piece]) : piece;
    const frames: Frame[] = [];
    for (;;) {
      const head = headOf(data);
      if (!head || data.length < head.end) break;
      frames.push({
        opcode: data[0]! & 0x0f,
        isFinal: (data[0]! & FINAL) !== 0,
        payload: data.subarray(head.start, head.end),
      });
      data = data.subarray(head.end);
    }
    this.rest = Buffer.from(data);
    return frames;
  }
}

/** Where the payload of the first frame starts and ends; undefined where its length has not come yet. */
function headOf(data: Buffer): { start: number; end: number } | undefined {
  if (data.length < 2) return undefined;
  const short = data[1]! & 0x7f;
  const start = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (data.length < start) return undefined;
  const length = short < 126 ? short : short === 126 ? data.readUInt16BE(2) : Number(data.readBigUInt64BE(2));
  return { start, end: start + length };
}
