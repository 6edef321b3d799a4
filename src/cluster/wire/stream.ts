import { Envelope } from './envelope.js';
import { isOfApplication } from './types.js';

/** Assembles envelopes from the chunks of a link. */
export class EnvelopeStream {
  private pending: Buffer[] = [];
  private length = 0;

  /** @param onEnvelope reads it before the next one comes, and may keep its body */
  constructor(
    private readonly onEnvelope: (envelope: Envelope) => void,
    private readonly onMalformed: (error: unknown) => void,
  ) {}

  push(chunk: Buffer): void {
    this.pending.push(chunk);
    this.length += chunk.length;
    if (this.length < 4) return;
    // Chunks are joined only when the envelope is complete. Otherwise each chunk would copy a long one again.
    if (this.pending[0]!.length < 4) this.join();
    if (this.length < 4 + this.pending[0]!.readUInt32LE(0)) return;
    const bytes = this.join();
    const envelope = new Envelope(bytes);
    while (this.next(envelope)) {}
    const { end } = envelope;
    this.pending = end < bytes.length ? [bytes.subarray(end)] : [];
    this.length = bytes.length - end;
  }

  private next(envelope: Envelope): boolean {
    try {
      if (!envelope.next()) return false;
    } catch (error) {
      this.onMalformed(error);
      return true;
    }
    this.onEnvelope(envelope);
    return true;
  }

  private join(): Buffer {
    const bytes = this.pending.length === 1 ? this.pending[0]! : Buffer.concat(this.pending);
    this.pending = [bytes];
    return bytes;
  }
}

/** Collects envelopes for one destination. Those that follow each other in the same bytes are one piece. */
export class Outgoing {
  /** How many of them applications have sent. */
  messages = 0;
  bytes = 0;
  private pieces: Buffer[] = [];
  private source: Buffer | undefined;
  private from = 0;
  private to = 0;

  /** @param envelope the one that a reader is at, or its bytes */
  add(envelope: Envelope | Buffer): void {
    if (envelope instanceof Envelope) {
      const { bytes, start, end } = envelope;
      if (this.source !== bytes || this.to !== start) {
        this.cut();
        this.source = bytes;
        this.from = start;
      }
      this.to = end;
      this.bytes += end - start;
      if (isOfApplication(envelope.type)) this.messages++;
    } else {
      if (this.source) this.cut();
      this.pieces.push(envelope);
      this.bytes += envelope.length;
    }
  }

  /** Everything, behind a head. */
  take(head?: Buffer): Buffer {
    this.cut();
    const { pieces } = this;
    this.pieces = [];
    this.bytes = 0;
    this.messages = 0;
    if (head) pieces.unshift(head);
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  private cut(): void {
    if (this.source) this.pieces.push(this.source.subarray(this.from, this.to));
    this.source = undefined;
  }
}
