import type { Socket } from 'node:net';
import { isBehind } from '../behind.js';

/** Something with frames to write. */
export interface Writing {
  readonly socket: Socket;
  /** Takes the frames that wait. */
  take(): Buffer[];
  /** What was written before is waiting for the client. */
  onBacklog(): void;
}

/**
 * Gathers what a turn of the event loop sends, and writes to each socket once at its end. Members of a room have the same
 * frames to get, which are joined once for all of them.
 */
export class Writer {
  private waiting: Writing[] = [];
  private frames: Buffer[] = [];
  private joined: Buffer = EMPTY;

  /** Call it when something gets its first frame. */
  add(writing: Writing): void {
    if (this.waiting.length === 0) queueMicrotask(() => this.flush());
    this.waiting.push(writing);
  }

  private flush(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const writing of waiting) this.write(writing);
    this.frames = [];
    this.joined = EMPTY;
  }

  write(writing: Writing): void {
    const frames = writing.take();
    if (frames.length === 0) return;
    const { socket } = writing;
    socket.write(frames.length === 1 ? frames[0]! : this.join(frames));
    if (isBehind(socket)) writing.onBacklog();
  }

  private join(frames: Buffer[]): Buffer {
    if (!isSame(frames, this.frames)) {
      this.frames = frames;
      this.joined = Buffer.concat(frames);
    }
    return this.joined;
  }
}

const EMPTY = Buffer.alloc(0);

function isSame(one: readonly Buffer[], other: readonly Buffer[]): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false;
  return true;
}
