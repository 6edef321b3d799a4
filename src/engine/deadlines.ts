import { type Clock, systemClock } from './clock.js';

/** Something that waits in a {@link DeadlineQueue}. The fields belong to the queue. */
export interface Waiting<T extends Waiting<T>> {
  queue: DeadlineQueue<T> | undefined;
  due: number;
  previous: T | undefined;
  next: T | undefined;
}

/** So late, in ms, a timer is because the process stood still: it had no CPU, or was stopped. */
const STALL_MS = 1000;

/**
 * Deadlines that all lie equally far ahead, so that the one that was set first is due first: a linked list through
 * the waiting objects themselves, and one timer for all of them. Two timers per client are what it saves.
 */
export class DeadlineQueue<T extends Waiting<T>> {
  private head: T | undefined;
  private tail: T | undefined;
  private timer: unknown;
  /** When the timer should run. */
  private timerDue = 0;
  /** The process stood still: what has come in meanwhile is read before deadlines pass that lay in between. */
  private isCatchingUp = false;
  /** How late a deadline may be found, in ms: those that are due close together are then found in one go. */
  private readonly slack: number;

  /**
   * @param delay how far ahead the deadlines lie, in ms
   * @param expired called for each object whose deadline has passed, after it left the queue
   */
  constructor(
    private readonly delay: number,
    private readonly expired: (waiting: T) => void,
    private readonly clock: Clock = systemClock,
  ) {
    this.slack = delay < 1000 ? 0 : Math.min(50, delay / 50);
  }

  /** Sets the object's deadline, and forgets the one it had in this or another queue. */
  add(waiting: T): void {
    const now = this.clock.now();
    waiting.queue?.remove(waiting);
    waiting.queue = this;
    // Whole numbers stand in the object itself; others would be objects of their own.
    waiting.due = Math.ceil(now + this.delay);
    waiting.previous = this.tail;
    if (this.tail) this.tail.next = waiting;
    else this.head = waiting;
    this.tail = waiting;
    if (this.timer === undefined) this.startTimer(now, this.delay);
  }

  /** Forgets the object's deadline. The timer is left to find out, which is cheaper than setting it anew. */
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

  /** Finds out at once whether the object's deadline has passed, where it matters that the timer may be late. */
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
      // Also after an application's listener has thrown: the others go on waiting.
      if (this.head && this.timer === undefined) this.startTimer(now, Math.max(1, this.head.due - now + this.slack));
    }
  };
}
