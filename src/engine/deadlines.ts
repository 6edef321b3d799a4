import { type Clock, systemClock } from './clock.js';

/** An object that waits in a {@link DeadlineQueue}. The fields belong to the queue. */
export interface Waiting<T extends Waiting<T>> {
  queue: DeadlineQueue<T> | undefined;
  due: number;
  previous: T | undefined;
  next: T | undefined;
}

/** The fields of an object that has no other base class. */
export abstract class DeadlineEntry<T extends Waiting<T>> implements Waiting<T> {
  queue: DeadlineQueue<T> | undefined = undefined;
  due = 0;
  previous: T | undefined = undefined;
  next: T | undefined = undefined;
}

/** A timer that is later than this, in ms, means that the process was paused: it had no CPU, or was stopped. */
const STALL_MS = 1000;

/**
 * Deadlines with the same delay, so the one that was set first is due first. The waiting objects form a linked list,
 * and one timer serves all of them. That saves two timers per client.
 */
export class DeadlineQueue<T extends Waiting<T>> {
  private head: T | undefined;
  private tail: T | undefined;
  private timer: unknown;
  /** When the timer should run. */
  private timerDue = 0;
  /** The process was paused. Input that arrived meanwhile is read before any deadline expires. */
  private isCatchingUp = false;
  /** How late a deadline may be noticed, in ms, so that one timer finds deadlines that are close together. */
  private readonly slack: number;

  /**
   * @param delay time from setting a deadline until it is due, in ms
   * @param expired called for each object whose deadline has passed, after it has left the queue
   */
  constructor(
    private readonly delay: number,
    private readonly expired: (waiting: T) => void,
    private readonly clock: Clock = systemClock,
  ) {
    this.slack = delay < 1000 ? 0 : Math.min(50, delay / 50);
  }

  /**
   * Sets the object's deadline, and forgets the one it had in this or another queue.
   * @param since when the delay should have begun. Counts if this is at most a twentieth of the delay ago, so that
   *   deadlines that follow each other do not add up how late their timers were.
   */
  add(waiting: T, since?: number): void {
    const now = this.clock.now();
    const isOfNow = since !== undefined && since <= now && now - since <= this.delay / 20;
    const start = isOfNow ? since : now;
    waiting.queue?.remove(waiting);
    waiting.queue = this;
    // V8 stores integers in the object itself, but allocates other numbers separately. A client counts from when it hears of
    // the start: rounding down, it never waits shorter than the server.
    waiting.due = Math.floor(start + this.delay);
    waiting.previous = this.tail;
    if (this.tail) this.tail.next = waiting;
    else this.head = waiting;
    this.tail = waiting;
    if (this.timer === undefined) this.startTimer(now, waiting.due - now);
  }

  /** Forgets the object's deadline. The timer is kept, which is cheaper than setting a new one. */
  remove(waiting: T): void {
    if (waiting.queue !== this) return;
    const { previous, next } = waiting;
    if (previous) previous.next = next;
    else this.head = next;
    if (next) next.previous = previous;
    else this.tail = previous;
    waiting.queue = undefined;
    waiting.previous = undefined;
    waiting.next = undefined;
  }

  /** Checks at once whether the object's deadline has passed, for cases in which the timer may be too late. */
  check(waiting: T): void {
    const now = this.clock.now();
    if (waiting.queue !== this || waiting.due > now || this.isCatchingUp || this.hasStalled(now)) return;
    this.remove(waiting);
    this.expired(waiting);
  }

  /** Forgets all deadlines and stops the timer. */
  close(): void {
    while (this.head) this.remove(this.head);
    if (this.timer !== undefined) this.clock.clearTimeout(this.timer);
    this.timer = undefined;
  }

  private startTimer(now: number, delay: number): void {
    this.timerDue = now + delay;
    this.timer = this.clock.setTimeout(this.onTimer, delay);
  }

  private hasStalled(now: number): boolean {
    return now - this.timerDue > STALL_MS;
  }

  private readonly onTimer = (): void => {
    const now = this.clock.now();
    this.isCatchingUp = !this.isCatchingUp && this.hasStalled(now);
    if (this.isCatchingUp) return void this.clock.setImmediate(this.onTimer);
    this.timer = undefined;
    try {
      while (this.head && this.head.due <= now) {
        const waiting = this.head;
        this.remove(waiting);
        this.expired(waiting);
      }
    } finally {
      // Also if an application's listener throws: the other objects are still waiting.
      if (this.head && this.timer === undefined) this.startTimer(now, Math.max(1, this.head.due - now + this.slack));
    }
  };
}
