/** So much at once, and so much again in each such time. */
export interface Rate {
  amount: number;
  /** In ms. */
  per: number;
}

/** How much is accepted; what is missing is not limited. */
export interface RateLimits {
  /** Messages of one client. */
  events?: Rate;
  /** Bytes in the messages of one client. */
  bytes?: Rate;
  /** New connections from one address. */
  connections?: Rate;
}

/**
 * What is left of a rate. It may be overdrawn, which says that the one who draws does not heed it: `over` at first, and
 * `far over` from twice the amount on.
 */
export class Allowance {
  private left: number;

  constructor(
    private readonly rate: Rate,
    private at: number,
  ) {
    this.left = rate.amount;
  }

  take(cost: number, now: number): void {
    this.left = this.leftAt(now) - cost;
    this.at = now;
  }

  /** Takes what is left of the cost, without overdrawing. */
  drain(cost: number, now: number): void {
    this.take(Math.min(cost, Math.max(0, this.leftAt(now))), now);
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

  /** Whether it is as if nothing had ever been taken. */
  isWhole(now: number): boolean {
    return this.leftAt(now) === this.rate.amount;
  }

  private leftAt(now: number): number {
    const { amount, per } = this.rate;
    return Math.min(amount, this.left + ((now - this.at) * amount) / per);
  }
}
