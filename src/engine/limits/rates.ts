/** Up to `amount` at once, refilled evenly over `per` ms. */
export interface Rate {
  amount: number;
  /** In ms. */
  per: number;
}

/** The accepted rates. A missing rate is unlimited. */
export interface RateLimits {
  /** Messages of one client. */
  events?: Rate;
  /** Bytes in the messages of one client. */
  bytes?: Rate;
  /** New connections from one address. */
  connections?: Rate;
}

/**
 * A token bucket: the rest of a rate. A client that ignores the limit overdraws it: it is over at first, and far over
 * from twice the amount on.
 */
export class Allowance {
  private left: number;

  constructor(
    private readonly rate: Rate,
    private at: number,
  ) {
    this.left = rate.amount;
  }

  consume(cost: number, now: number): void {
    this.left = this.leftAt(now) - cost;
    this.at = now;
  }

  /** Takes what is left of the cost, without overdrawing. */
  drain(cost: number, now: number): void {
    this.consume(Math.min(cost, Math.max(0, this.leftAt(now))), now);
  }

  has(cost: number, now: number): boolean {
    return this.leftAt(now) >= cost;
  }

  isOver(now: number): boolean {
    return this.leftAt(now) < 0;
  }

  isFarOver(now: number): boolean {
    return this.leftAt(now) < -this.rate.amount;
  }

  /** Whether the bucket is full again. */
  isWhole(now: number): boolean {
    return this.leftAt(now) === this.rate.amount;
  }

  private leftAt(now: number): number {
    const { amount, per } = this.rate;
    return Math.min(amount, this.left + ((now - this.at) * amount) / per);
  }
}
