/** Units of the clock in a millisecond. The rest of a 53-bit integer holds the milliseconds until the year 2039. */
export const UNITS_PER_MS = 4096;

/** Clocks may be wrong by this, in ms. */
const MAX_LEAD_MS = 5 * 365 * 86_400_000;
/** No clock is right that is earlier: November 2026. */
const EARLIEST_MS = 1_793_000_000_000;
const MAX_TICK = Number.MAX_SAFE_INTEGER - 2 ** 44;

/**
 * Whether a worker can have made a tick. Later ones would exhaust the clock, since each worker that hears of one goes on
 * from there.
 */
export function isTick(value: unknown): value is number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) return false;
  const latest = (Math.max(Date.now(), EARLIEST_MS) + MAX_LEAD_MS) * UNITS_PER_MS;
  return (value as number) <= Math.min(latest, MAX_TICK);
}

/**
 * A hybrid logical clock: the time of day, but each tick is later than every tick that this worker has made or heard of.
 * Ticks of different workers can be equal; the worker's id then decides.
 */
export class HybridClock {
  private last = 0;

  /** @param timeMs the time of day in ms, which may jump backwards */
  constructor(private readonly timeMs: () => number = Date.now) {}

  /** The next tick. */
  tick(): number {
    this.last = Math.max(this.last + 1, this.timeMs() * UNITS_PER_MS);
    return this.last;
  }

  /** Another worker has made this tick. */
  heard(tick: number): void {
    if (tick > this.last) this.last = tick;
  }
}
