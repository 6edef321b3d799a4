import type { Clock } from '../clock.js';
import type { PacketData } from '../protocol/packet.js';
import { Allowance, type RateLimits } from './rates.js';

interface Allowances {
  events: Allowance | undefined;
  bytes: Allowance | undefined;
}

/** Limits the messages and bytes that each client may send. */
export class MessageLimits {
  private readonly allowances = new WeakMap<object, Allowances>();

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

  private of(client: object, now: number): Allowances {
    const known = this.allowances.get(client);
    if (known) return known;
    const { events, bytes } = this.rates;
    const made = { events: events && new Allowance(events, now), bytes: bytes && new Allowance(bytes, now) };
    this.allowances.set(client, made);
    return made;
  }
}
