import { type Clock, systemClock } from './clock.js';

/** A frequent key, and how often it occurs. */
export interface TopKey {
  readonly key: string;
  /** Approximate, over the last seconds, and rather too low than too high. */
  readonly perSecond: number;
}

interface Entry {
  count: number;
  /** How much of the count may belong to keys that had the place before. */
  error: number;
}

/** How many keys are kept. */
const MAX_KEYS = 64;
/** After this time, an event counts 1/e of what it counted first, in ms. */
const SPAN_MS = 5000;
/** How often the counts are reduced, in ms. */
const DECAY_INTERVAL_MS = 250;
/** Of more events than this, only a random part is looked at. */
const SAMPLES_PER_SECOND = 500;
/** Smaller counts are forgotten. */
const MIN_COUNT = 0.05;

/**
 * Finds the most frequent keys of a stream of events, such as the addresses that send the most messages. Its memory and
 * its cost are bounded, however many keys and events there are: most events cost one decrement.
 *
 * Source: the algorithm SpaceSaving (Metwally, Agrawal, El Abbadi, 2005), on a random sample and with counts that decay.
 */
export class TopKeys {
  private readonly entries = new Map<string, Entry>();
  /** Events to pass over before the next one is looked at. */
  private left = 0;
  /** How many events each one that is looked at stands for. */
  private stride = 1;
  private total = 0;
  private decayedAt: number;

  /** @param random a number from 0 to 1, without 1 */
  constructor(
    private readonly clock: Clock = systemClock,
    private readonly random: () => number = Math.random,
  ) {
    this.decayedAt = clock.now();
  }

  /** Call this with each event. If it returns true, call {@link add} with the event's key. */
  isDue(): boolean {
    return this.left-- <= 0;
  }

  add(key: string): void {
    this.decay();
    const { entries, stride } = this;
    const known = entries.get(key);
    if (known) known.count += stride;
    else if (entries.size < MAX_KEYS) entries.set(key, { count: stride, error: 0 });
    else this.replaceSmallest(key);
    this.total += stride;
    this.stride = Math.max(1, Math.round((this.total * 1000) / SPAN_MS / SAMPLES_PER_SECOND));
    // A fixed distance could always meet the same client of several that take turns.
    this.left = Math.floor(this.random() * (2 * this.stride - 1));
  }

  /** The most frequent keys, the first one first. */
  top(limit: number): TopKey[] {
    this.decay();
    return [...this.entries]
      .map(([key, { count, error }]) => ({ key, perSecond: ((count - error) * 1000) / SPAN_MS }))
      .filter(({ perSecond }) => perSecond > 0)
      .sort((one, other) => other.perSecond - one.perSecond)
      .slice(0, limit);
  }

  private replaceSmallest(key: string): void {
    let smallest: [string, Entry] | undefined;
    for (const entry of this.entries) if (!smallest || entry[1].count < smallest[1].count) smallest = entry;
    const [former, { count }] = smallest!;
    this.entries.delete(former);
    this.entries.set(key, { count: count + this.stride, error: count });
  }

  private decay(): void {
    const passed = this.clock.now() - this.decayedAt;
    if (passed < DECAY_INTERVAL_MS) return;
    this.decayedAt += passed;
    const factor = Math.exp(-passed / SPAN_MS);
    this.total *= factor;
    for (const [key, entry] of this.entries) {
      entry.count *= factor;
      entry.error *= factor;
      if (entry.count < MIN_COUNT) this.entries.delete(key);
    }
  }
}

/** The most frequent keys of several streams together. */
export function mergeKeys(lists: readonly (readonly TopKey[])[], limit: number): TopKey[] {
  const sums = new Map<string, number>();
  for (const { key, perSecond } of lists.flat()) sums.set(key, (sums.get(key) ?? 0) + perSecond);
  return [...sums]
    .map(([key, perSecond]) => ({ key, perSecond }))
    .sort((one, other) => other.perSecond - one.perSecond)
    .slice(0, limit);
}
