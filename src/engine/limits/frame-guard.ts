import type { Clock } from '../clock.js';
import type { FrameReceiver } from '../http/exchange.js';
import { IncomingBytes, IncomingHolder } from '../incoming/incoming-bytes.js';

/** How long the frames of one WebSocket are handled in one turn of the event loop, in ms. Further frames wait. */
const SLICE_MS = 20;
/** The same for all WebSockets together, in ms. Beyond it, each WebSocket gets one frame per turn. */
const TURN_MS = 50;
/** How long waiting frames are handled in one turn, in ms: in total, and of one WebSocket. */
const PASS_MS = 15;
const SHARE_MS = 3;
/** After this number of control frames in a row, the guard checks whether the event loop still turns. */
const WATCHED_FROM = 256;
/** How long one WebSocket may keep the event loop from turning with control frames, in ms. */
const MAX_RUN_MS = 200;
/** How many bytes may wait from one WebSocket, and from all together. */
export const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
export const MAX_QUEUED_BYTES_IN_ALL = 64 * 1024 * 1024;
/** Memory of a waiting frame besides its data, in bytes. */
const FRAME_OVERHEAD = 128;

/** The waiting frames of one WebSocket. */
class Queue extends IncomingHolder {
  frames: { data: Buffer; isBinary: boolean }[] = [];
  /** The index of the first waiting frame. */
  at = 0;
  /** Set once the WebSocket is closed. Its owner is told after the last waiting frame. */
  closed: { code: number; reason: string } | undefined;

  /** @param onOverflow called when all clients together send more than the process can hold */
  constructor(
    readonly receiver: FrameReceiver,
    all: IncomingBytes,
    readonly onOverflow: () => void,
  ) {
    super(all);
  }

  add(data: Buffer, isBinary: boolean): void {
    this.frames.push({ data, isBinary });
    this.hold(sizeOf(data));
  }

  /** The first waiting frame, which waits no longer. */
  take(): { data: Buffer; isBinary: boolean } | undefined {
    const frame = this.frames[this.at];
    if (!frame) return undefined;
    this.at++;
    this.letGo(sizeOf(frame.data));
    return frame;
  }

  drop(): void {
    this.frames = [];
    this.letGo();
  }
}

/** The memory of a waiting frame, in bytes. */
function sizeOf(data: Buffer): number {
  return data.length + FRAME_OVERHEAD;
}

/**
 * Keeps one client from occupying a worker. uWebSockets.js reads a socket again as long as each read returns half a
 * megabyte. No timer and no other socket runs meanwhile. The guard handles the frames of one WebSocket for a few
 * milliseconds per turn of the event loop. Further frames are copied, and wait in order for the next turns. If too many
 * bytes wait, the client sends faster than the worker can follow, and is closed.
 */
export class FrameGuard {
  /** WebSockets that were closed because too many bytes waited, or because of too many control frames. */
  floods = 0;
  private readonly queues = new Map<FrameReceiver, Queue>();
  private queuedBytes = 0;
  private current: FrameReceiver | undefined;
  /** Time spent on the frames of the current WebSocket, and of all, since the last observed turn, in ms. */
  private spent = 0;
  private spentInAll = 0;
  private controlFrames = 0;
  private watchedSince = 0;
  private isPlanned = false;

  /** @param incoming counts the waiting frames, among everything that came in and waits */
  constructor(
    private readonly clock: Clock,
    private readonly incoming = new IncomingBytes(),
  ) {}

  /** The number of waiting bytes. */
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
      const queue = new Queue(receiver, this.incoming, () => this.flood(receiver));
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

  /** The WebSocket is closed. Its owner gets the waiting frames, and is then told. */
  closed(receiver: FrameReceiver, code: number, reason: string): void {
    const queue = this.queues.size > 0 ? this.queues.get(receiver) : undefined;
    if (!queue) return receiver.onClose(code, reason);
    queue.closed = { code, reason };
    receiver.onDetached();
  }

  /**
   * Runs steps of work, for a few milliseconds per turn of the event loop.
   * @param done called after the last step; if all steps fit into one turn, before this method returns
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
    this.queuedBytes += sizeOf(data);
    queue.add(data, isBinary);
    if (queue.bufferedAmount > MAX_QUEUED_BYTES) this.flood(queue.receiver);
    else if (this.queuedBytes > MAX_QUEUED_BYTES_IN_ALL) this.flood(this.largest().receiver);
    this.plan();
  }

  private largest(): Queue {
    return [...this.queues.values()].reduce((most, queue) =>
      queue.bufferedAmount > most.bufferedAmount ? queue : most,
    );
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
    this.queuedBytes -= queue.bufferedAmount;
    queue.drop();
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

  /** Handles at least one frame, and moves the queue behind the others. */
  private handle(queue: Queue, until: number): void {
    this.queues.delete(queue.receiver);
    this.queues.set(queue.receiver, queue);
    do {
      const frame = queue.take();
      if (!frame) break;
      this.queuedBytes -= sizeOf(frame.data);
      queue.receiver.onMessage(frame.data, frame.isBinary);
    } while (this.clock.now() < until && this.queues.get(queue.receiver) === queue);
    if (this.queues.get(queue.receiver) !== queue) return;
    if (queue.at < queue.frames.length) {
      // Handled frames are removed in batches, so the list does not grow endlessly.
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
