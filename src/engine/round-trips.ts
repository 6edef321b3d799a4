import type { Clock } from './clock.js';

/** How many pings are followed at the same time. */
const MAX_PINGS = 16;
/** How many round trips are kept. */
const MAX_KEPT = 128;
/** How long a round trip is kept, in ms. */
const KEEP_MS = 60_000;
/** After this time, the place of a ping without an answer is free again, in ms. */
const MAX_WAIT_MS = 10_000;

/** Measures how long clients take to answer pings, on a few pings at a time. */
export class RoundTrips {
  private readonly pings = new Map<object, number>();
  private readonly kept: { at: number; ms: number }[] = [];

  constructor(private readonly clock: Clock) {}

  /** A ping is sent to a client. */
  sent(client: object): void {
    const now = this.clock.now();
    if (this.pings.size >= MAX_PINGS) {
      const [oldest, at] = this.pings.entries().next().value!;
      if (now - at < MAX_WAIT_MS) return;
      this.pings.delete(oldest);
    }
    this.pings.set(client, now);
  }

  /** A client has answered. */
  answered(client: object): void {
    const at = this.pings.get(client);
    if (at === undefined) return;
    this.pings.delete(client);
    const now = this.clock.now();
    this.kept.push({ at: now, ms: now - at });
    if (this.kept.length > MAX_KEPT) this.kept.shift();
  }

  /** The latest round trips, in ms. */
  get latest(): number[] {
    const since = this.clock.now() - KEEP_MS;
    return this.kept.filter(({ at }) => at >= since).map(({ ms }) => ms);
  }
}
