/** The frame of a message between workers: length of the rest (4 bytes, little endian), kind (1 byte), payload. */

const HEADER = 5;

/** One message as bytes. */
export function frame(kind: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER + payload.length);
  bytes.writeUInt32LE(payload.length + 1, 0);
  bytes[4] = kind;
  bytes.set(payload, HEADER);
  return bytes;
}

/** Assembles messages from chunks. A listener may keep the payload. */
export class FrameReader {
  private pending: Buffer[] = [];
  private length = 0;

  constructor(private readonly onMessage: (kind: number, payload: Buffer) => void) {}

  push(chunk: Buffer): void {
    this.pending.push(chunk);
    this.length += chunk.length;
    if (this.length < HEADER) return;
    // Chunks are joined only when the message is complete. Otherwise each chunk would copy a long message again.
    if (this.pending[0]!.length < 4) this.join();
    if (this.length < 4 + this.pending[0]!.readUInt32LE(0)) return;
    const bytes = this.join();
    let at = 0;
    while (bytes.length - at >= HEADER) {
      const end = at + 4 + bytes.readUInt32LE(at);
      if (end > bytes.length) break;
      this.onMessage(bytes[at + 4]!, bytes.subarray(at + HEADER, end));
      at = end;
    }
    this.pending = at < bytes.length ? [bytes.subarray(at)] : [];
    this.length = bytes.length - at;
  }

  private join(): Buffer {
    const bytes = this.pending.length === 1 ? this.pending[0]! : Buffer.concat(this.pending);
    this.pending = [bytes];
    return bytes;
  }
}
