import type { Clock } from '../clock.js';
import type { PacketData } from '../protocol/packet.js';
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

  /** Overdraws it if necessary, but by no more than its amount: it is whole again after twice its interval. */
  owe(cost: number, now: number): void {
    this.consume(Math.min(cost, this.leftAt(now) + this.rate.amount), now);
  }

  /** How long it takes until it is no longer overdrawn, in ms. */
  msToPay(now: number): number {
    return Math.max(0, (-this.leftAt(now) * this.rate.per) / this.rate.amount);
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

/** With fewer names than this, full allowances are not removed. */
const SWEEP_FROM = 1024;

/** Allowances by name. Those that are full again are forgotten. */
export class Allowances {
  private readonly byName = new Map<string, Allowance>();
  private sweepAt = SWEEP_FROM;

  constructor(private readonly rate: Rate) {}

  /** The allowance of a name that has used some of it. */
  get(name: string): Allowance | undefined {
    return this.byName.get(name);
  }

  of(name: string, now: number): Allowance {
    let allowance = this.byName.get(name);
    if (!allowance) {
      this.sweep(now);
      allowance = new Allowance(this.rate, now);
      this.byName.set(name, allowance);
    }
    return allowance;
  }

  private sweep(now: number): void {
    if (this.byName.size < this.sweepAt) return;
    for (const [name, allowance] of this.byName) if (allowance.isWhole(now)) this.byName.delete(name);
    this.sweepAt = Math.max(SWEEP_FROM, 2 * this.byName.size);
  }
}

interface ClientAllowances {
  events: Allowance | undefined;
  bytes: Allowance | undefined;
}

/** Limits the messages and bytes that each client may send. */
export class MessageLimits {
  private readonly allowances = new WeakMap<object, ClientAllowances>();

  private constructor(
    private readonly rates: RateLimits,
    private readonly clock: Clock,
  ) {}

  static of(rates: RateLimits, clock: Clock): MessageLimits | undefined {
    return rates.events || rates.bytes ? new MessageLimits(rates, clock) : undefined;
  }

  /** Call this with each message. A client that is `far over` its limit must be closed. */
  consume(client: object, data: PacketData | undefined): 'within' | 'over' | 'far over' {
    const now = this.clock.now();
    const { events, bytes } = this.of(client, now);
    events?.consume(1, now);
    if (data !== undefined) bytes?.consume(Buffer.byteLength(data), now);
    if (events?.isFarOver(now) || bytes?.isFarOver(now)) return 'far over';
    return events?.isOver(now) || bytes?.isOver(now) ? 'over' : 'within';
  }

  /** Whether the client is over its limit, so its last message must not be handled. */
  isOver(client: object): boolean {
    const known = this.allowances.get(client);
    const now = this.clock.now();
    return known !== undefined && (known.events?.isOver(now) || known.bytes?.isOver(now) || false);
  }

  private of(client: object, now: number): ClientAllowances {
    const known = this.allowances.get(client);
    if (known) return known;
    const { events, bytes } = this.rates;
    const made = { events: events && new Allowance(events, now), bytes: bytes && new Allowance(bytes, now) };
    this.allowances.set(client, made);
    return made;
  }
}
