import type { Clock } from '../clock.js';

/** A client for whom output may wait. */
export interface Buffering {
  /** How many bytes wait. */
  readonly bufferedAmount: number;
  onOverflow(): void;
}

/** In ms. */
const TURN_MS = 50;
/** How many clients are looked at in one turn. */
const CLIENTS_IN_A_TURN = 2000;
/** A client with less than this is none of those who hold most, in bytes. */
const SMALL = 65_536;

/**
 * Bounds what waits for all clients of a process together. The bound for one client alone lets a thousand slow ones take
 * a thousand times as much. When the budget is used up, the connections for which most waits are closed, until half of
 * the budget is free.
 */
export class BufferBudget {
  /** Bytes that waited for all clients when they were last looked at. */
  buffered = 0;
  /** Clients that were closed. */
  closed = 0;
  private timer: unknown;
  private pass: Iterator<Buffering> | undefined;
  private sum = 0;
  private large: Buffering[] = [];

  /**
   * @param max the budget in bytes; 0 is no limit
   * @param clients all that output may wait for
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
