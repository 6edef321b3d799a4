import type { Clock } from '../clock.js';
import { HeldBytes, Holder } from '../delivery/held-bytes.js';
import type { FrameReceiver } from '../http/exchange.js';

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
/** Once so many bytes of closed WebSockets were dropped in one turn, this is how many of one may wait: short frames may unpack to them. */
const MAX_DROPPED_BYTES = 2 * MAX_QUEUED_BYTES;
const MAX_SHARE_BYTES = 512 * 1024;
/** Memory of a waiting frame besides its data, in bytes. */
const FRAME_OVERHEAD = 128;

/**
 * How many frames are handled before their listeners run, so that their answers are written together: as many as take
 * `TOGETHER_MS` by what the last ones took.
 */
const MAX_TOGETHER = 10;
const TOGETHER_MS = 1;
/** From this number of bytes on, a frame is large: it may take long to read. */
const LARGE_BYTES = 16_384;

/** Decompresses the messages of a WebSocket. */
export interface Inflater {
  /** Returns undefined if that is not possible: the WebSocket is about to close. */
  inflated(data: Buffer, isBinary: boolean): Buffer | undefined;
}

interface Frame {
  readonly data: Buffer;
  readonly isBinary: boolean;
  readonly inflater: Inflater | undefined;
}

/** The waiting frames of one WebSocket. */
class Queue extends Holder {
  frames: Frame[] = [];
  /** The index of the first waiting frame. */
  at = 0;
  /** Whether its frames are handled in this turn. */
  isFollowing = false;
  /** Set once the WebSocket is closed. Its owner is told after the last waiting frame. */
  closed: { code: number; reason: string } | undefined;

  /** @param onOverflow called when all clients together send more than the process can hold */
  constructor(
    readonly receiver: FrameReceiver,
    all: HeldBytes,
    readonly onOverflow: () => void,
  ) {
    super(all);
  }

  add(frame: Frame): void {
    this.frames.push(frame);
    this.hold(sizeOf(frame.data));
  }

  /** Copies what waits. */
  own(): void {
    this.frames = this.frames.slice(this.at).map((frame) => ({ ...frame, data: copyOf(frame.data) }));
    this.at = 0;
  }

  /** The first waiting frame, which waits no longer. */
  take(): Frame | undefined {
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

function copyOf(message: ArrayBuffer | Buffer): Buffer {
  return Buffer.from(new Uint8Array(message as ArrayBuffer));
}

/** The memory of a waiting frame, in bytes. */
function sizeOf(data: Buffer): number {
  return data.length + FRAME_OVERHEAD;
}

/** A pass over the waiting frames: how many WebSockets it has left, whose turn it is, and until when. */
interface Pass {
  queues: number;
  readonly end: number;
  queue: Queue | undefined;
  queueEnd: number;
}

/**
 * Keeps one client from occupying a worker. uWebSockets.js reads a socket again as long as each read returns half a
 * megabyte, and node:http may read many frames at once. No timer and no other socket runs meanwhile. The guard handles the
 * frames of one WebSocket for a few milliseconds per turn of the event loop. Further frames are copied, and wait in order
 * for the next turns. If too many bytes wait, the client sends faster than the worker can follow, and is closed.
 *
 * The time of a frame lasts until the next one: Socket.IO calls listeners in later ticks, and these may go on in microtasks.
 */
export class FrameGuard {
  /** WebSockets that were closed because too many bytes waited, or because of too many control frames. */
  floods = 0;
  private readonly queues = new Map<FrameReceiver, Queue>();
  private queuedBytes = 0;
  /** The waiting bytes of WebSockets that were closed in this turn. */
  private droppedInTurn = 0;
  private current: FrameReceiver | undefined;
  /** Time spent on the frames of the current WebSocket, and of all, since the last observed turn, in ms. */
  private spent = 0;
  private spentInAll = 0;
  /** When the time was counted last, and how long the event loop had been idle then, in ms. NaN after a turn. */
  private countedAt = 0;
  private idle = Number.NaN;
  /** The frames that were handled since, and the time that one frame has taken of late, in ms. */
  private together = 0;
  private cost = 0;
  private controlFrames = 0;
  private watchedSince = 0;
  private isPlanned = false;
  /** The pass over the waiting frames that is in progress. */
  private pass: Pass | undefined;

  /** @param incoming counts the waiting frames, among everything that came in and waits */
  constructor(
    private readonly clock: Clock,
    private readonly incoming = new HeldBytes(),
  ) {}

  /** The number of waiting bytes. */
  get waitingBytes(): number {
    return this.queuedBytes;
  }

  /**
   * Passes a message on, now or in one of the next turns.
   * @param isFurther whether the call of the event loop has had another message before: its listeners run first
   * @param inflater set if the message is compressed
   */
  message(
    receiver: FrameReceiver,
    message: ArrayBuffer | Buffer,
    isBinary: boolean,
    isFurther = false,
    inflater?: Inflater,
  ): void {
    if (this.queues.size > 0) {
      const queue = this.queues.get(receiver);
      if (queue) return this.enqueue(queue, message, isBinary, inflater);
    }
    const isLarge = inflater !== undefined || message.byteLength > LARGE_BYTES;
    if (isFurther && (isLarge || !this.mayGoOn)) return this.follow(receiver, message, isBinary, inflater);
    if (!isFurther) this.count();
    this.enter(receiver);
    if (this.isOver || (isLarge && this.spentInAll > TURN_MS)) {
      this.enqueue(this.add(receiver), message, isBinary, inflater);
      this.plan();
    } else this.deliver(receiver, message, isBinary, inflater);
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

  /** Whether messages of a WebSocket wait. */
  isWaiting(receiver: FrameReceiver): boolean {
    return this.queues.has(receiver);
  }

  /** The WebSocket is closed. Its owner gets the waiting frames, and is then told. */
  closed(receiver: FrameReceiver, code: number, reason: string): void {
    const queue = this.queues.size > 0 ? this.queues.get(receiver) : undefined;
    if (!queue) return receiver.onClose(code, reason);
    queue.closed = { code, reason };
    receiver.onDetached();
  }

  /**
   * Runs steps of work, each once the listeners of the one before have run, for a few milliseconds per turn of the event loop.
   * @param done called after the last step; if there is only one and no need to wait, before this method returns
   */
  slice(steps: Iterator<unknown>, done: () => void, since = this.clock.now()): void {
    this.count();
    this.current = undefined;
    if (this.spentInAll < TURN_MS && this.countedAt - since < SLICE_MS) {
      if (steps.next().done) return done();
      return this.clock.afterTicks(() => this.slice(steps, done, since));
    }
    this.plan();
    this.clock.setImmediate(() => this.slice(steps, done));
  }

  /** Counts the time since it was called last, if the event loop has not been idle since. */
  private count(): void {
    const now = this.clock.now();
    const idle = this.clock.idle();
    if (idle === this.idle) {
      const took = now - this.countedAt;
      this.spent += took;
      this.spentInAll += took;
      this.cost += (took / Math.max(1, this.together) - this.cost) / 8;
      if (this.spentInAll > SLICE_MS) this.plan();
    } else this.turned(idle);
    this.countedAt = now;
    this.together = 0;
  }

  /** Whether one more frame is handled before the listeners of the last ones run. */
  private get mayGoOn(): boolean {
    return this.together < MAX_TOGETHER && this.together * this.cost < TOGETHER_MS;
  }

  private turned(idle: number): void {
    this.idle = idle;
    this.current = undefined;
    this.spent = 0;
    this.spentInAll = 0;
    this.droppedInTurn = 0;
  }

  /** Whether the current WebSocket has had its time of this turn. */
  private get isOver(): boolean {
    return this.spent > SLICE_MS || (this.spentInAll > TURN_MS && this.spent > 0);
  }

  private enter(receiver: FrameReceiver): void {
    if (receiver === this.current) return;
    this.current = receiver;
    this.spent = 0;
    this.controlFrames = 0;
  }

  private add(receiver: FrameReceiver): Queue {
    const queue = new Queue(receiver, this.incoming, () => this.flood(receiver));
    this.queues.set(receiver, queue);
    return queue;
  }

  private enqueue(
    queue: Queue,
    message: ArrayBuffer | Buffer,
    isBinary: boolean,
    inflater: Inflater | undefined,
  ): void {
    // What follows in the same call is usually handled in this turn, and its memory is not used again until then.
    const data = queue.isFollowing ? (message as Buffer) : copyOf(message);
    this.queuedBytes += sizeOf(data);
    queue.add({ data, isBinary, inflater });
    const max = this.droppedInTurn > MAX_DROPPED_BYTES ? MAX_SHARE_BYTES : MAX_QUEUED_BYTES;
    if (queue.bufferedAmount > max) this.flood(queue.receiver);
    else if (this.queuedBytes > MAX_QUEUED_BYTES_IN_ALL) this.flood(this.largest().receiver);
  }

  /** Handles what has come in one call in this turn, each message once the listeners of the one before have run. */
  private follow(
    receiver: FrameReceiver,
    message: ArrayBuffer | Buffer,
    isBinary: boolean,
    inflater: Inflater | undefined,
  ): void {
    const queue = this.add(receiver);
    queue.isFollowing = true;
    this.enqueue(queue, message, isBinary, inflater);
    this.clock.afterTicks(() => this.next(queue));
  }

  private next(queue: Queue): void {
    if (this.queues.get(queue.receiver) !== queue) return;
    this.count();
    this.enter(queue.receiver);
    if (this.isOver) {
      queue.isFollowing = false;
      // A frame must not keep the memory of all that came with it.
      queue.own();
      return this.plan();
    }
    try {
      this.handle(queue);
    } finally {
      this.clock.afterTicks(() => this.next(queue));
    }
  }

  private largest(): Queue {
    return [...this.queues.values()].reduce((most, queue) =>
      queue.bufferedAmount > most.bufferedAmount ? queue : most,
    );
  }

  private flood(receiver: FrameReceiver): void {
    this.floods++;
    const queue = this.queues.get(receiver);
    this.droppedInTurn += queue?.bufferedAmount ?? 0;
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
    this.turned(Number.NaN);
    if (this.pass || this.queues.size === 0) return;
    this.count();
    this.pass = { queues: this.queues.size, end: this.countedAt + PASS_MS, queue: undefined, queueEnd: 0 };
    this.step();
  };

  /** Handles waiting frames, and the next ones once their listeners have run. */
  private readonly step = (): void => {
    this.count();
    const queue = this.nextInPass();
    if (!queue) {
      this.pass = undefined;
      this.turned(Number.NaN);
      if (this.queues.size > 0) this.plan();
      return;
    }
    try {
      this.handle(queue);
    } finally {
      this.clock.afterTicks(this.step);
    }
  };

  /** The WebSocket whose turn it is; undefined at the end of the pass. */
  private nextInPass(): Queue | undefined {
    const pass = this.pass!;
    const now = this.countedAt;
    const { queue: last } = pass;
    if (last && now < pass.queueEnd && this.queues.get(last.receiver) === last) return last;
    const [next] = this.queues.values();
    if (!next || pass.queues === 0 || now >= pass.end) return undefined;
    pass.queues--;
    pass.queue = next;
    pass.queueEnd = Math.min(pass.end, now + SHARE_MS);
    // Behind the others.
    this.queues.delete(next.receiver);
    this.queues.set(next.receiver, next);
    return next;
  }

  /** Handles waiting frames, and does not wait for their listeners. */
  private handle(queue: Queue): void {
    const { receiver } = queue;
    do {
      const frame = queue.take();
      if (!frame) return;
      this.queuedBytes -= sizeOf(frame.data);
      try {
        if (!this.deliver(receiver, frame.data, frame.isBinary, frame.inflater)) queue.at = queue.frames.length;
      } finally {
        if (this.queues.get(receiver) === queue) this.tidy(queue);
      }
    } while (this.queues.get(receiver) === queue && this.mayGoOn);
  }

  private tidy(queue: Queue): void {
    if (queue.at < queue.frames.length) {
      // Handled frames are removed in batches, so the list does not grow endlessly.
      if (queue.at >= 1024) {
        queue.frames.splice(0, queue.at);
        queue.at = 0;
      }
      return;
    }
    this.remove(queue);
    const { receiver, closed } = queue;
    // The listeners of its last frame run first: socket.io handles a packet in the next tick, and none of a closed connection.
    if (closed) this.clock.afterTicks(() => receiver.onClose(closed.code, closed.reason));
  }

  /** Returns false if the message is compressed and cannot be read. */
  private deliver(
    receiver: FrameReceiver,
    message: ArrayBuffer | Buffer,
    isBinary: boolean,
    inflater: Inflater | undefined,
  ): boolean {
    const isHeavy = inflater !== undefined || message.byteLength > LARGE_BYTES;
    this.together += isHeavy ? MAX_TOGETHER : 1;
    const content = inflater ? inflater.inflated(message as Buffer, isBinary) : message;
    if (content) receiver.onMessage(content, isBinary);
    return content !== undefined;
  }
}
