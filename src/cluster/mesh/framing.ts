import type { Socket } from 'node:net';
import { unsentBytes } from '../../engine/node/node-net.private.js';

/**
 * The frame of a message between workers: length of the rest (4 bytes, little endian), kind (1 byte), part (1 byte), payload. The
 * part is the number of the Socket.IO server, or of the engine, within its worker.
 */

const HEADER = 6;

/** One message as bytes. */
export function frame(kind: number, payload: Uint8Array, part = 0): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER + payload.length);
  bytes.writeUInt32LE(payload.length + 2, 0);
  bytes[4] = kind;
  bytes[5] = part;
  bytes.set(payload, HEADER);
  return bytes;
}

/** Assembles messages from chunks. A listener may keep the payload. */
export class FrameReader {
  private pending: Buffer[] = [];
  private length = 0;

  constructor(private readonly onMessage: (kind: number, payload: Buffer, part: number) => void) {}

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
      this.onMessage(bytes[at + 4]!, bytes.subarray(at + HEADER, end), bytes[at + 5]!);
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

/** Bytes that may wait on a link for longer than a moment. By then a burst, or the longest payload, has been read. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** How often the links are checked, in ms. */
const TURN_MS = 250;
/** After this number of turns the other end counts as stuck. */
const MAX_TURNS = 8;
/** A longer turn, in ms, means that this worker itself was busy and could not write. */
const MAX_TURN_MS = 300;

/**
 * Finds links whose other end does not keep up. Time is counted in turns of this worker's timer. Late turns do not count,
 * nor those in which less waits than before. So a worker that is itself held up blames no other worker, and one that reads a
 * burst slowly is not blamed.
 */
export class SlowPeerDetector {
  private readonly watched = new Map<Socket, { turns: number; waiting: number }>();
  private timer: NodeJS.Timeout | undefined;
  private lastTurn = 0;

  /** @param onStuck called with a link whose other end does not keep up */
  constructor(private readonly onStuck: (link: Socket) => void) {}

  /** Call this after each write. */
  check(link: Socket): void {
    if (link.writableLength <= MAX_WAITING_BYTES || this.watched.has(link)) return;
    this.watched.set(link, { turns: 0, waiting: 0 });
    if (this.timer) return;
    this.lastTurn = performance.now();
    this.timer = setInterval(() => this.onTurn(), TURN_MS);
  }

  close(): void {
    this.watched.clear();
    this.stopWatching();
  }

  private onTurn(): void {
    const now = performance.now();
    const isLate = now - this.lastTurn > MAX_TURN_MS;
    this.lastTurn = now;
    if (isLate) return;
    for (const [link, seen] of this.watched) {
      const waiting = unsentBytes(link);
      if (waiting >= seen.waiting) seen.turns++;
      seen.waiting = waiting;
      if (link.destroyed || waiting <= MAX_WAITING_BYTES) {
        this.watched.delete(link);
      } else if (seen.turns >= MAX_TURNS) {
        this.watched.delete(link);
        this.onStuck(link);
      }
    }
    if (this.watched.size === 0) this.stopWatching();
  }

  private stopWatching(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
