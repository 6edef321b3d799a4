/** Units of the clock in a millisecond. The rest of a 53-bit integer holds the milliseconds until the year 2039. */
export const UNITS_PER_MS = 4096;

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
