/** Units of the clock in a millisecond. The rest of a 53-bit integer holds the milliseconds until the year 2039. */
export const UNITS_PER_MS = 4096;

/** Clocks may be wrong by this, in ms. */
const MAX_LEAD_MS = 5 * 365 * 86_400_000;
/** No clock is right that is earlier: November 2026. */
const EARLIEST_MS = 1_793_000_000_000;
/** How exactly the fraction of a millisecond must be known, and how often it is looked for. */
const MAX_UNCERTAIN_MS = 0.05;
const MAX_ATTEMPTS = 5;
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
 * The time of day in ms with fractions. Date.now() has none: a client could set a key on one worker after another has
 * answered its deletion, in the same millisecond, and the set would be the older of the two.
 */
export function preciseTime(clocks: Clocks = systemClocks): () => number {
  let offset = offsetOfClock(clocks);
  return () => {
    const earliest = clocks.precise() + offset;
    const ms = clocks.day();
    const latest = clocks.precise() + offset;
    // The clock was set, or runs at another speed. If the process had to wait between the readings, that proves nothing.
    if (latest < ms) offset += ms - latest;
    else if (earliest > ms + 1) offset -= earliest - ms - 1;
    return Math.max(ms, Math.min(earliest, ms + 1));
  };
}

interface Clocks {
  /** The time of day in whole ms. */
  day(): number;
  /** Time in ms with fractions, since any moment. */
  precise(): number;
}

const systemClocks: Clocks = { day: () => Date.now(), precise: () => performance.now() };

/** What to add to the precise clock. The fraction is known at the moment in which the time of day moves on. */
function offsetOfClock({ day, precise }: Clocks): number {
  let best = { offset: 0, uncertain: Number.POSITIVE_INFINITY };
  for (let attempt = 0; attempt < MAX_ATTEMPTS && best.uncertain > MAX_UNCERTAIN_MS; attempt++) {
    let before = precise();
    const begun = day();
    let next = precise();
    let now = day();
    for (; now === begun; now = day()) [before, next] = [next, precise()];
    // Longer if the process had to wait just then.
    const uncertain = precise() - before;
    if (uncertain < best.uncertain) best = { offset: now - before, uncertain };
  }
  return best.offset;
}

let ofProcess: (() => number) | undefined;

/** One for all namespaces: finding the fraction takes a millisecond. */
function timeOfProcess(): () => number {
  ofProcess ??= preciseTime();
  return ofProcess;
}

/**
 * A hybrid logical clock: the time of day, but each tick is later than every tick that this worker has made or heard of.
 * Ticks of different workers can be equal; the worker's id then decides.
 */
export class HybridClock {
  private last = 0;

  /** @param timeMs the time of day in ms, which may jump backwards */
  constructor(private readonly timeMs: () => number = timeOfProcess()) {}

  /** The next tick. */
  tick(): number {
    this.last = Math.max(this.last + 1, Math.floor(this.timeMs() * UNITS_PER_MS));
    return this.last;
  }

  /** Another worker has made this tick. */
  heard(tick: number): void {
    if (tick > this.last) this.last = tick;
  }
}
