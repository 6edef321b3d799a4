/** Samples count for one to two times as long: longer, and clocks that run apart would matter. In ticks. */
const CLOCK_MEMORY = 80_000;
/** How far a clock may run ahead without a missed message. In ticks. */
const MARGIN = 10;

/**
 * What this worker knows of the clock of a machine whose messages carry the time: by how much it is behind this one's, plus
 * the shortest way of a message.
 */
export class RemoteClock {
  private least: number | undefined;
  private leastBefore: number | undefined;
  private since = 0;

  /** Whether a message with a time has arrived. */
  get isKnown(): boolean {
    return this.least !== undefined;
  }

  /**
   * Call this with the time in a message that has just arrived.
   * @param now the time here
   */
  note(time: number, now: number): void {
    const lag = (now - time) | 0;
    if (this.least === undefined || ((now - this.since) | 0) > CLOCK_MEMORY) {
      this.leastBefore = this.least;
      this.since = now;
      this.least = lag;
    } else this.least = earlier(this.least, lag);
  }

  /** When a message must have left there, at the earliest, that arrives here at `now` or later. */
  departure(now: number): number {
    const { least = 0, leastBefore = least } = this;
    return (now - earlier(least, leastBefore) - MARGIN) | 0;
  }
}

const earlier = (a: number, b: number): number => (((a - b) | 0) < 0 ? a : b);
