import { randomBytes, randomInt } from '../../base/random.js';

/** Names one life of a room in a sequencer. */
export function newEpoch(): string {
  return randomBytes(6).toString('base64url');
}

/**
 * What a client has: everything up to a number in one life of the room, and the time at which it had it:
 * `<epoch>.<number>.<ms>`, in base 36. All workers of a machine understand it, and other machines the time.
 */
export interface ClientVersion {
  readonly epoch: string;
  readonly number: number;
  readonly timeMs: number;
}

const FORM = /^([\w-]{1,32})\.([0-9a-z]{1,11})\.([0-9a-z]{1,9})$/;

export function encodeVersion({ epoch, number, timeMs }: ClientVersion): string {
  return `${epoch}.${number.toString(36)}.${timeMs.toString(36)}`;
}

/** Undefined for anything that no worker has written: the client then gets a snapshot. */
export function parseVersion(text: unknown): ClientVersion | undefined {
  const found = typeof text === 'string' ? FORM.exec(text) : null;
  if (!found) return undefined;
  const [, epoch, number, time] = found as unknown as [string, string, string, string];
  return { epoch, number: Number.parseInt(number, 36), timeMs: Number.parseInt(time, 36) };
}

/** Units of the clock in a millisecond. The rest of a 53-bit integer holds the milliseconds until the year 2039. */
export const UNITS_PER_MS = 4096;

export function isTick(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/**
 * A hybrid logical clock: the time of day, but each tick is later than every tick that was made here or heard of. Ticks of
 * different machines can be equal; the name of the sequencer then decides.
 */
export class HybridClock {
  private last = 0;

  /**
   * @param timeMs the time of day in ms, which may jump backwards
   * @param offset of its ticks in a millisecond: two clocks seldom make the same tick. A change that a worker tells two hubs in turn
   *   has two origins, so that these must not decide between it and another one
   */
  constructor(
    private readonly timeMs: () => number = Date.now,
    private readonly offset = randomInt(0, UNITS_PER_MS),
  ) {}

  /** The next tick. */
  tick(): number {
    this.last = Math.max(this.last + 1, this.timeMs() * UNITS_PER_MS + this.offset);
    return this.last;
  }

  /** Somebody else has made this tick. */
  heard(tick: number): void {
    if (tick > this.last) this.last = tick;
  }
}
