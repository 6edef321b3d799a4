import type { Clock } from '../deadlines.js';
import type { PacketData } from '../packet.js';
import { Allowance, type RateLimits } from './rates.js';

interface Allowances {
  events: Allowance | undefined;
  bytes: Allowance | undefined;
}

/** What each client may send, by messages and by bytes. There is none where neither is limited. */
export class MessageLimits {
  private readonly allowances = new WeakMap<object, Allowances>();

  private constructor(
    private readonly rates: RateLimits,
    private readonly clock: Clock,
  ) {}

  static of(rates: RateLimits, clock: Clock): MessageLimits | undefined {
    return rates.events || rates.bytes ? new MessageLimits(rates, clock) : undefined;
  }

  /** To be called with each message. Returns whether its client goes so far beyond the limit that it is to be closed. */
  take(client: object, data: PacketData | undefined): 'within' | 'over' | 'far over' {
    const now = this.clock.now();
    const { events, bytes } = this.of(client, now);
    events?.take(1, now);
    if (data !== undefined) bytes?.take(Buffer.byteLength(data), now);
    if (events?.isFarOver(now) || bytes?.isFarOver(now)) return 'far over';
    return events?.isOver(now) || bytes?.isOver(now) ? 'over' : 'within';
  }

  /** Charges a client for work that one of its messages has caused. It may use up its limit, but never exceeds it so. */
  charge(client: object, events: number): void {
    const now = this.clock.now();
    this.of(client, now).events?.drain(events, now);
  }

  /** Whether the client has sent more than it may, so that what it has sent last is not to be done. */
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
