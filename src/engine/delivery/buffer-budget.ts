import type { Clock } from '../clock.js';

/** A client for which output may wait. */
export interface Buffering {
  /** The number of bytes that wait. */
  readonly bufferedAmount: number;
  onOverflow(): void;
}

/** How often clients are measured, in ms. */
const TURN_MS = 50;
/** How many clients are measured in one turn. */
const CLIENTS_IN_A_TURN = 2000;
/** A client with fewer bytes than this is not closed. */
const SMALL = 65_536;

/**
 * Bounds the bytes that wait for all clients of a process together. A bound per client would let a thousand slow
 * clients take a thousand times as much. When the budget is exceeded, the clients with the most waiting bytes are
 * closed until half of the budget is free.
 */
export class BufferBudget {
  /** Bytes that waited for all clients when they were last measured. */
  buffered = 0;
  /** Clients that were closed. */
  closed = 0;
  private timer: unknown;
  private pass: Iterator<Buffering> | undefined;
  private sum = 0;
  private large: Buffering[] = [];

  /**
   * @param max the budget in bytes; 0 is no limit
   * @param clients all clients for which output may wait
   */
  constructor(
    private readonly max: number,
    private readonly clients: () => Iterable<Buffering>,
    private readonly clock: Clock,
  ) {}

  start(): void {
    if (this.max === 0 || this.timer !== undefined) return;
    this.timer = this.clock.setTimeout(this.look, TURN_MS);
    (this.timer as { unref?(): void }).unref?.();
  }

  close(): void {
    this.clock.clearTimeout(this.timer);
    this.timer = undefined;
  }

  private readonly look = (): void => {
    this.pass ??= this.clients()[Symbol.iterator]();
    for (let seen = 0; seen < CLIENTS_IN_A_TURN; seen++) {
      const { value, done } = this.pass.next();
      if (done) {
        this.finish();
        break;
      }
      const bytes = value.bufferedAmount;
      this.sum += bytes;
      if (bytes >= SMALL) this.large.push(value);
    }
    this.timer = undefined;
    this.start();
  };

  private finish(): void {
    this.buffered = this.sum;
    if (this.sum > this.max) this.free(this.sum - this.max / 2);
    this.pass = undefined;
    this.sum = 0;
    this.large = [];
  }

  private free(bytes: number): void {
    const byAmount = this.large
      .map((client) => ({ client, amount: client.bufferedAmount }))
      .sort((one, other) => other.amount - one.amount);
    let left = bytes;
    for (const { client, amount } of byAmount) {
      if (left <= 0) return;
      left -= amount;
      this.closed++;
      client.onOverflow();
    }
  }
}
