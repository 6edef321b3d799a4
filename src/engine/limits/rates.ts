import type { OptionKind } from '../../base/options.js';
import type { Clock } from '../clock.js';
import type { PacketData } from '../protocol/packet.js';

/** Up to `amount` at once, refilled evenly over `per` ms. */
export interface Rate {
  amount: number;
  /** In ms. */
  per: number;
}

/** What is left of a rate after some time, in ms. */
const refilled = ({ amount, per }: Rate, left: number, passed: number): number =>
  Math.min(amount, left + (passed * amount) / per);

/** The accepted rates. A missing rate is unlimited. */
export interface RateLimits {
  /** Messages of one client. */
  events?: Rate;
  /** Bytes in the messages of one client. */
  bytes?: Rate;
  /** New connections from one address. */
  connections?: Rate;
}

const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Reads `events=50/s,connections=60/m`, or `off`. */
function fromText(list: string): Record<string, Rate> | undefined {
  const limits: Record<string, Rate> = {};
  if (list === 'off') return limits;
  for (const part of list.split(',')) {
    const found = /^ *(\w+)=([1-9]\d{0,11})\/(\d{0,6})(ms|s|m|h) *$/.exec(part);
    const [, what, amount, count, unit = ''] = found ?? [];
    if (what === undefined || what in limits) return undefined;
    limits[what] = { amount: Number(amount), per: Number(count || 1) * units[unit]! };
  }
  return limits;
}

const isPositive = (value: unknown) => typeof value === 'number' && value > 0;

export const rates: OptionKind<RateLimits> = {
  accepts:
    'off, or a list of events, bytes and connections, each as =<number>/<time>, such as events=100/10s,connections=60/m',
  read(given) {
    const limits = typeof given === 'string' ? fromText(given) : given;
    if (typeof limits !== 'object' || limits === null) return undefined;
    const isKnown = Object.entries(limits).every(
      ([what, rate]) =>
        ['events', 'bytes', 'connections'].includes(what) &&
        (rate === undefined || (isPositive(rate?.amount) && isPositive(rate.per))),
    );
    return isKnown ? limits : undefined;
  },
};

/** A token bucket: the rest of a rate. */
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

  /** Whether the bucket is full again. */
  isWhole(now: number): boolean {
    return this.leftAt(now) === this.rate.amount;
  }

  private leftAt(now: number): number {
    return refilled(this.rate, this.left, now - this.at);
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

/** What a client may still send. It is negative if the client is over its limit. */
interface Left {
  events: number;
  bytes: number;
  at: number;
}

/** A client whose messages are limited. The limits keep what is left to it here, from its first message on. */
export interface LimitedClient {
  left: Left | undefined;
}

const UNLIMITED: Rate = { amount: Number.MAX_VALUE, per: 1 };

/**
 * Limits the messages and bytes that each client may send: token buckets, all of a client in one object. A client that
 * ignores a limit is over it at first, and far over from twice the amount on.
 */
export class MessageLimits {
  private readonly events: Rate;
  private readonly bytes: Rate;

  private constructor(
    rates: RateLimits,
    private readonly clock: Clock,
  ) {
    this.events = rates.events ?? UNLIMITED;
    this.bytes = rates.bytes ?? UNLIMITED;
  }

  static of(rates: RateLimits, clock: Clock): MessageLimits | undefined {
    return rates.events || rates.bytes ? new MessageLimits(rates, clock) : undefined;
  }

  /** Call this with each message. A client that is `far over` its limit must be closed. */
  consume(client: LimitedClient, data: PacketData | undefined): 'within' | 'over' | 'far over' {
    const { events, bytes } = this;
    client.left ??= { events: events.amount, bytes: bytes.amount, at: this.clock.now() };
    const left = this.refilled(client.left);
    left.events--;
    if (data !== undefined) left.bytes -= Buffer.byteLength(data);
    if (left.events < -events.amount || left.bytes < -bytes.amount) return 'far over';
    return left.events < 0 || left.bytes < 0 ? 'over' : 'within';
  }

  /** Goes on with what was left to a client in another process, which has another clock. */
  goOn(client: LimitedClient, left: LimitedClient['left']): void {
    client.left = left && { ...left, at: this.clock.now() };
  }

  /** Whether the client is over its limit, so its last message must not be handled. */
  isOver({ left }: LimitedClient): boolean {
    if (!left || (left.events >= 0 && left.bytes >= 0)) return false;
    const { events, bytes } = this.refilled(left);
    return events < 0 || bytes < 0;
  }

  private refilled(left: Left): Left {
    const { events, bytes } = this;
    const now = this.clock.now();
    const passed = now - left.at;
    left.at = now;
    left.events = refilled(events, left.events, passed);
    left.bytes = refilled(bytes, left.bytes, passed);
    return left;
  }
}
