import { clearImmediate, setImmediate } from '../../base/clock.js';

interface Waiting {
  /** By the time of the machine. */
  readonly at: number;
  readonly handle: () => void;
}

/**
 * Handles the messages of several workers in the order in which they were sent. A client that has the answer of one worker may ask
 * another one next, whose socket may be read first. What was sent before a message is there to be read once it has come, so it waits
 * until all sockets were read once more.
 */
export class InOrder {
  private waiting: Waiting[] = [];
  /** Up to this time, everything has been read. */
  private readUpTo = 0;
  private immediate: NodeJS.Immediate | undefined;

  /** @param attempt does something, and reports what it throws */
  constructor(private readonly attempt: (act: () => void) => void) {}

  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }

  add(at: number, handle: () => void): void {
    this.waiting.push({ at, handle });
    this.immediate ??= setImmediate(this.turn);
  }

  /** Handles everything at once. */
  flush(): void {
    clearImmediate(this.immediate);
    this.immediate = undefined;
    this.handle(Number.POSITIVE_INFINITY);
  }

  private readonly turn = (): void => {
    this.immediate = undefined;
    const { readUpTo } = this;
    this.readUpTo = this.waiting.reduce((latest, { at }) => Math.max(latest, at), readUpTo);
    this.handle(readUpTo);
    if (this.waiting.length > 0) this.immediate ??= setImmediate(this.turn);
  };

  private handle(upTo: number): void {
    const due = this.waiting.filter(({ at }) => at <= upTo);
    this.waiting = this.waiting.filter(({ at }) => at > upTo);
    for (const { handle } of due.sort((one, other) => one.at - other.at)) this.attempt(handle);
  }
}
