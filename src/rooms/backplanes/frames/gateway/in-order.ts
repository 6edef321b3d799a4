import type { MachineFrame } from '../machines/machine-frame.js';

/** How long a missing frame is waited for, in ms: longer than the deputy leaves a frame to the gateway. */
const TIMEOUT_MS = 1000;
/** Bytes that wait for missing frames. When there are more, the missing frames of that sender count as lost. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;
/** How long a sender that is gone is remembered, in ms. Its frames may still arrive on the other way. */
const MEMORY_MS = 10_000;

interface Held {
  readonly frame: MachineFrame;
  readonly before: number;
}

/** What this worker has got from one sender. */
interface Sender {
  /** The number of the last frame that was handled. */
  last: number;
  /** Frames that came before one that is missing, by their numbers. */
  held: Held[];
  timer: NodeJS.Timeout | undefined;
  isGone: boolean;
}

interface InOrderEvents {
  onFrame(frame: MachineFrame): void;
  /** Frames of the sender were lost. */
  onLoss(sender: string): void;
}

/**
 * Handles the frames of each sender once and in order, although a frame may arrive on two ways: from the channel and from
 * a worker of this machine. A frame after a missing one waits for it.
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
    if (frame.number <= sender.last) return;
    if (before > sender.last) {
      if (this.canWait()) return this.hold(sender, { frame, before });
      this.events.onLoss(frame.sender);
    }
    // A frame that waits for none ends the wait of those before it.
    this.release(sender, ({ frame: { number } }) => number < frame.number);
    this.handle(sender, frame);
    this.release(sender, (next) => next.before <= sender.last);
  }

  /** The sender is gone. */
  leave(name: string): void {
    const sender = this.senders.get(name);
    if (!sender) return;
    sender.isGone = true;
    setTimeout(() => sender.isGone && this.senders.delete(name), MEMORY_MS).unref();
  }

  close(): void {
    for (const { timer } of this.senders.values()) clearTimeout(timer);
  }

  private senderOf(name: string): Sender {
    let sender = this.senders.get(name);
    if (!sender) {
      sender = { last: 0, held: [], timer: undefined, isGone: false };
      this.senders.set(name, sender);
    }
    sender.isGone = false;
    return sender;
  }

  private hold(sender: Sender, next: Held): void {
    const { held } = sender;
    const index = held.findLastIndex(({ frame }) => frame.number <= next.frame.number);
    if (held[index]?.frame.number === next.frame.number) return;
    held.splice(index + 1, 0, next);
    this.heldBytes += next.frame.bytes.length;
    if (this.heldBytes > MAX_HELD_BYTES) return this.giveUp(sender);
    if (sender.timer) return;
    // After a stall, what has arrived meanwhile is read between the two.
    const timer = setTimeout(() => {
      setImmediate(() => sender.timer === timer && this.giveUp(sender));
    }, TIMEOUT_MS).unref();
    sender.timer = timer;
  }

  private giveUp(sender: Sender): void {
    const [first] = sender.held;
    if (!first) return;
    this.release(sender, () => true);
    this.events.onLoss(first.frame.sender);
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
    if (frame.number <= sender.last) return;
    sender.last = frame.number;
    this.events.onFrame(frame);
  }
}
