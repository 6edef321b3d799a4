import { owned } from '../../../base/owner.js';
import type { MachineFrame } from '../machines/machine-frame.js';
import { HandledFrames } from './frame-log.js';

/** How long a missing frame is waited for, in ms: longer than the deputy leaves a frame to the gateway. */
const TIMEOUT_MS = 1000;
/** Bytes that wait for missing frames. When there are more, the missing frames of that sender count as lost. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;
/** How long a sender that is gone is remembered, in ms. Its frames may still arrive on the other way. */
const MEMORY_MS = 10_000;
/** How long, in ms, and how many frames that count as lost may still arrive, and are dropped to keep the order. */
const LATE_MS = 2000;
const MAX_LATE_FRAMES = 4096;

interface Held {
  readonly frame: MachineFrame;
  readonly before: number;
}

/** What this worker has got from one sender. */
interface Sender {
  /** The number of the last frame that was handled. */
  last: number;
  /** The highest number of all. It is above the last one after numbers that did not continue. */
  highest: number;
  readonly handled: HandledFrames;
  /** The frames that counted as lost most recently, and until when they are too late. */
  lost: { after: number; upTo: number; until: number } | undefined;
  /** Frames that came before one that is missing, by their numbers. */
  held: Held[];
  timer: NodeJS.Timeout | undefined;
  /** Forgets the sender, which has left. */
  leaving: NodeJS.Timeout | undefined;
}

const MISSING = 'frames of a worker are missing';
const LATE = 'frames of a worker arrived too late';
const NOT_CONTINUED = 'the frames of a worker do not continue where they were';

interface InOrderEvents {
  /** Whether the sender is there, also again after it has left. */
  isThere(sender: string): boolean;
  onFrame(frame: MachineFrame): void;
  /** Frames of the sender were lost, or its numbers do not continue, which looks the same. */
  onLoss(sender: string, reason: string): void;
}

/**
 * Handles the frames of each sender once and in order, although a frame may arrive on two ways: from the channel and from
 * a worker of this machine. A frame after a missing one waits for it.
 *
 * A frame that was not handled is handled, whatever its number: after a forged or corrupt number, the frames of the sender
 * seem old, and after a restart they are. Its numbers then continue from there, and a loss is reported.
 */
export class InOrder {
  private readonly senders = new Map<string, Sender>();
  private heldBytes = 0;

  /** @param canWait whether a missing frame can arrive on another way */
  constructor(
    private readonly events: InOrderEvents,
    private readonly canWait: () => boolean,
  ) {}

  /**
   * Takes a frame.
   * @param before the number of the frame before it; 0 if it waits for none
   */
  receive(frame: MachineFrame, before: number): void {
    const sender = this.senderOf(frame.sender);
    const { number } = frame;
    if (number <= sender.highest && this.isDone(sender, frame, before)) return;
    if (number <= sender.last) this.events.onLoss(frame.sender, NOT_CONTINUED);
    else if (before > sender.last && !sender.handled.has(before)) {
      if (this.canWait()) return this.hold(sender, { frame, before });
      this.events.onLoss(frame.sender, MISSING);
    }
    // A frame that waits for none ends the wait of those before it.
    this.release(sender, ({ frame: { number } }) => number < frame.number);
    this.handle(sender, frame);
    this.release(sender, (next) => next.before <= sender.last || sender.handled.has(next.before));
  }

  /** The sender is gone. */
  leave(name: string): void {
    const sender = this.senders.get(name);
    if (!sender) return;
    clearTimeout(sender.leaving);
    // Late frames, which still arrive, do not bring it back.
    const forget = () => !this.events.isThere(name) && this.senders.delete(name);
    sender.leaving = setTimeout(forget, MEMORY_MS).unref();
  }

  close(): void {
    for (const { timer, leaving } of this.senders.values()) {
      clearTimeout(timer);
      clearTimeout(leaving);
    }
  }

  private senderOf(name: string): Sender {
    let sender = this.senders.get(name);
    if (!sender) {
      sender = {
        ...{ last: 0, highest: 0, handled: new HandledFrames(), lost: undefined },
        ...{ held: [], timer: undefined, leaving: undefined },
      };
      this.senders.set(name, sender);
    }
    return sender;
  }

  /** Whether a frame was handled before, or must not be handled any more. */
  private isDone(sender: Sender, frame: MachineFrame, before: number): boolean {
    const { handled, last, lost } = sender;
    const { number } = frame;
    if (handled.hasFrame(number, frame.bytes)) return true;
    if (number > last) return false;
    // A frame that waits for none may be the first one after a restart.
    if (before !== 0 && handled.mayHaveForgotten(number)) return true;
    if (!lost || number <= lost.after || number > lost.upTo || performance.now() > lost.until) return false;
    this.events.onLoss(frame.sender, LATE);
    return true;
  }

  private hold(sender: Sender, next: Held): void {
    const { held } = sender;
    const index = held.findLastIndex(({ frame }) => frame.number <= next.frame.number);
    const same = held[index]?.frame;
    if (same?.number === next.frame.number && same.bytes.equals(next.frame.bytes)) return;
    held.splice(index + 1, 0, next);
    this.heldBytes += next.frame.bytes.length;
    if (this.heldBytes > MAX_HELD_BYTES) return this.giveUp(sender);
    if (sender.timer) return;
    // After a stall, what has arrived meanwhile is read between the two.
    const timer = setTimeout(() => {
      setImmediate(owned('handing on frames out of order', () => sender.timer === timer && this.giveUp(sender)));
    }, TIMEOUT_MS).unref();
    sender.timer = timer;
  }

  private giveUp(sender: Sender): void {
    const [first] = sender.held;
    if (!first) return;
    const { before: upTo } = first;
    const after = Math.max(sender.last, upTo - MAX_LATE_FRAMES);
    // A jump that no sender makes in so short a time tells nothing about the frames in between.
    if (after === sender.last) sender.lost = { after, upTo, until: performance.now() + LATE_MS };
    this.release(sender, () => true);
    this.events.onLoss(first.frame.sender, MISSING);
  }

  /** Handles what waits, as long as it may go. */
  private release(sender: Sender, mayGo: (next: Held) => boolean): void {
    const { held } = sender;
    const before = held.length;
    while (held[0] && mayGo(held[0])) {
      const { frame } = held.shift()!;
      this.heldBytes -= frame.bytes.length;
      this.handle(sender, frame);
    }
    if (held.length === before) return;
    if (held.length > 0) return void sender.timer?.refresh();
    clearTimeout(sender.timer);
    sender.timer = undefined;
  }

  private handle(sender: Sender, frame: MachineFrame): void {
    const { number, bytes } = frame;
    sender.last = number;
    if (number > sender.highest) sender.highest = number;
    sender.handled.add(number, bytes);
    this.events.onFrame(frame);
  }
}
