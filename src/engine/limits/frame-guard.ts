import type { Clock } from '../clock.js';
import type { FrameReceiver } from '../http/exchange.js';

/** How long the frames of one WebSocket are handled in one turn of the event loop, in ms; the rest waits. */
const SLICE_MS = 20;
/** How long those of all WebSockets together are, before each gets one frame a turn, in ms. */
const TURN_MS = 50;
/** How long waiting frames are handled in one turn, in ms, and those of one WebSocket of it. */
const PASS_MS = 15;
const SHARE_MS = 3;
/** Control frames in a row after which it is watched whether the event loop still turns. */
const WATCHED_FROM = 256;
/** How long one WebSocket may keep the event loop from turning with control frames, in ms. */
const MAX_RUN_MS = 200;
/** How many bytes may wait of one WebSocket, and of all together. */
export const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
export const MAX_QUEUED_BYTES_IN_ALL = 64 * 1024 * 1024;
/** What a frame that waits takes besides its data, in bytes. */
const FRAME_OVERHEAD = 128;

interface Queue {
  readonly receiver: FrameReceiver;
  frames: { data: Buffer; isBinary: boolean }[];
  /** The first frame that waits. */
  at: number;
  bytes: number;
  /** Set once the WebSocket is closed: its owner learns that when it has been given all frames. */
  closed: { code: number; reason: string } | undefined;
}

/**
 * Keeps one client from occupying a worker. uWebSockets.js reads a socket again as long as it finds half a megabyte to
 * read, and runs no timer and no other socket meanwhile. Here the frames of one WebSocket are handled for a few
 * milliseconds in a turn of the event loop, and the others are copied and wait for the next turns, in their order. A
 * client for which too much waits sends faster than the worker can follow, and is closed.
 */
export class FrameGuard {
  /** WebSockets that were closed because too much waited, or for too many control frames. */
  floods = 0;
  private readonly queues = new Map<FrameReceiver, Queue>();
  private queuedBytes = 0;
  private current: FrameReceiver | undefined;
  /** Time spent on the frames of the current WebSocket, and of all, since the last turn that was noticed, in ms. */
  private spent = 0;
  private spentInAll = 0;
  private controlFrames = 0;
  private watchedSince = 0;
  private isPlanned = false;

  constructor(private readonly clock: Clock) {}

  /** How many bytes wait. */
  get waitingBytes(): number {
    return this.queuedBytes;
  }

  /** Passes a message on, now or in one of the next turns. */
  message(receiver: FrameReceiver, message: ArrayBuffer | Buffer, isBinary: boolean): void {
    if (this.queues.size > 0) {
      const queue = this.queues.get(receiver);
      if (queue) return this.enqueue(queue, message, isBinary);
    }
    this.enter(receiver);
    if (this.spent > SLICE_MS || (this.spentInAll > TURN_MS && this.spent > 0)) {
      const queue: Queue = { receiver, frames: [], at: 0, bytes: 0, closed: undefined };
      this.queues.set(receiver, queue);
      return this.enqueue(queue, message, isBinary);
    }
    const start = this.clock.now();
    try {
      receiver.onMessage(message, isBinary);
    } finally {
      const took = this.clock.now() - start;
      this.spent += took;
      this.spentInAll += took;
      if (this.spentInAll > SLICE_MS) this.plan();
    }
  }

  /** Counts a ping or pong. */
  control(receiver: FrameReceiver): void {
    this.enter(receiver);
    this.controlFrames++;
    if (this.controlFrames === WATCHED_FROM) {
      this.watchedSince = this.clock.now();
      this.plan();
    } else if (this.controlFrames > WATCHED_FROM && this.clock.now() - this.watchedSince > MAX_RUN_MS) {
      this.flood(receiver);
    }
  }

  /** The WebSocket is closed: its owner gets what still waits, and then learns it. */
  closed(receiver: FrameReceiver, code: number, reason: string): void {
    const queue = this.queues.size > 0 ? this.queues.get(receiver) : undefined;
    if (!queue) return receiver.onClose(code, reason);
    queue.closed = { code, reason };
    receiver.onDetached();
  }

  /**
   * Runs steps of work, a few milliseconds in a turn of the event loop.
   * @param done called after the last step, before this returns where they take no longer than that
   */
  slice(steps: Iterator<unknown>, done: () => void): void {
    const start = this.clock.now();
    for (;;) {
      if (steps.next().done) {
        this.spentInAll += this.clock.now() - start;
        if (this.spentInAll > SLICE_MS) this.plan();
        return done();
      }
      const took = this.clock.now() - start;
      if (took < SLICE_MS && this.spentInAll + took < TURN_MS) continue;
      this.spentInAll += took;
      this.plan();
      this.clock.setImmediate(() => this.slice(steps, done));
      return;
    }
  }

  private enter(receiver: FrameReceiver): void {
    if (receiver === this.current) return;
    this.current = receiver;
    this.spent = 0;
    this.controlFrames = 0;
  }

  private enqueue(queue: Queue, message: ArrayBuffer | Buffer, isBinary: boolean): void {
    const data = Buffer.from(new Uint8Array(message as ArrayBuffer));
    const bytes = data.length + FRAME_OVERHEAD;
    queue.frames.push({ data, isBinary });
    queue.bytes += bytes;
    this.queuedBytes += bytes;
    if (queue.bytes > MAX_QUEUED_BYTES) this.flood(queue.receiver);
    else if (this.queuedBytes > MAX_QUEUED_BYTES_IN_ALL) this.flood(this.largest().receiver);
    this.plan();
  }

  private largest(): Queue {
    return [...this.queues.values()].reduce((most, queue) => (queue.bytes > most.bytes ? queue : most));
  }

  private flood(receiver: FrameReceiver): void {
    this.floods++;
    const queue = this.queues.get(receiver);
    if (queue) this.remove(queue);
    if (queue?.closed) receiver.onClose(queue.closed.code, queue.closed.reason);
    else receiver.onFlood();
  }

  private remove(queue: Queue): void {
    this.queues.delete(queue.receiver);
    this.queuedBytes -= queue.bytes;
    queue.frames = [];
  }

  private plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.clock.setImmediate(this.onTurn);
  }

  private readonly onTurn = (): void => {
    this.isPlanned = false;
    this.current = undefined;
    this.spent = 0;
    this.spentInAll = 0;
    const end = this.clock.now() + PASS_MS;
    try {
      for (const queue of [...this.queues.values()]) {
        this.handle(queue, Math.min(end, this.clock.now() + SHARE_MS));
        if (this.clock.now() >= end) break;
      }
    } finally {
      if (this.queues.size > 0) this.plan();
    }
  };

  /** Handles at least one frame. Whose turn it was stands behind the others. */
  private handle(queue: Queue, until: number): void {
    this.queues.delete(queue.receiver);
    this.queues.set(queue.receiver, queue);
    do {
      const frame = queue.frames[queue.at];
      if (!frame) break;
      queue.at++;
      const bytes = frame.data.length + FRAME_OVERHEAD;
      queue.bytes -= bytes;
      this.queuedBytes -= bytes;
      queue.receiver.onMessage(frame.data, frame.isBinary);
    } while (this.clock.now() < until && this.queues.get(queue.receiver) === queue);
    if (this.queues.get(queue.receiver) !== queue) return;
    if (queue.at < queue.frames.length) {
      // What was handled is let go of now and then, so that the list does not grow for ever.
      if (queue.at >= 1024) {
        queue.frames.splice(0, queue.at);
        queue.at = 0;
      }
      return;
    }
    this.remove(queue);
    if (queue.closed) queue.receiver.onClose(queue.closed.code, queue.closed.reason);
  }
}
