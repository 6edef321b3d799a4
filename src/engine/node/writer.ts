import type { Socket } from 'node:net';
import { queueMicrotask } from '../../base/clock.js';
import { SHARED_BYTES } from './topics.js';
import type { NodeWebSocket } from './web-socket.js';

/** Whether the kernel has not taken all that was written, because the client does not read. */
export const isBehind = (socket: Socket): boolean => socket.writableLength > 0 && socket.writableCorked === 0;

/**
 * Frames that are written together. Sockets that get the same frames in the same order share it, so that the frames of a
 * room are joined once for all members.
 */
export class Batch {
  private lastNext: Batch | undefined = undefined;
  private joined: Buffer | undefined = undefined;

  private constructor(
    private readonly before: Batch | undefined,
    private readonly frame: Buffer,
    readonly length: number,
  ) {}

  /** A batch that begins with a frame. */
  static of(frame: Buffer): Batch {
    return new Batch(undefined, frame, frame.length);
  }

  /** The batch with one more frame. */
  with(frame: Buffer): Batch {
    const { lastNext } = this;
    if (lastNext && lastNext.frame === frame) return lastNext;
    const next = new Batch(this, frame, this.length + frame.length);
    this.lastNext = next;
    return next;
  }

  startsWith(frame: Buffer): boolean {
    return this.frame === frame;
  }

  get bytes(): Buffer {
    if (!this.before) return this.frame;
    this.joined ??= this.join();
    return this.joined;
  }

  private join(): Buffer {
    const joined = Buffer.allocUnsafe(this.length);
    let end = this.length;
    for (let batch: Batch | undefined = this; batch; batch = batch.before) {
      end -= batch.frame.length;
      joined.set(batch.frame, end);
    }
    return joined;
  }
}

/** Gathers what a turn of the event loop sends, and writes to each socket once at its end. */
export class Writer {
  private waiting: NodeWebSocket[] = [];
  /** The batch that was begun last. */
  private last: Batch | undefined;
  /** The last one that began with a long frame. A later turn may send the same to another client. */
  private lastLong: WeakRef<Batch> | undefined;

  /** Begins a batch for something that has none. */
  begin(writing: NodeWebSocket, frame: Buffer): Batch {
    if (this.waiting.length === 0) queueMicrotask(this.flush);
    this.waiting.push(writing);
    if (!this.last?.startsWith(frame))
      this.last = frame.length < SHARED_BYTES ? Batch.of(frame) : this.beginLong(frame);
    return this.last;
  }

  private beginLong(frame: Buffer): Batch {
    const last = this.lastLong?.deref();
    if (last?.startsWith(frame)) return last;
    const batch = Batch.of(frame);
    this.lastLong = new WeakRef(batch);
    return batch;
  }

  private readonly flush = (): void => {
    const { waiting } = this;
    this.waiting = [];
    this.last = undefined;
    for (const writing of waiting) this.write(writing);
  };

  write(writing: NodeWebSocket): void {
    const batch = writing.take();
    if (!batch) return;
    const { socket } = writing;
    socket.write(batch.bytes);
    if (isBehind(socket)) writing.onBacklog();
  }
}
