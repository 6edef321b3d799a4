/** A clock that differs by more from the time that has passed was moved, in ms. */
const MAX_DRIFT_MS = 1000;

/** Tells from when on times of day of this machine can be compared with later ones. Its own times are those of `performance`. */
export class ClockWatch {
  /** When the clock was found moved. */
  movedAt = Number.NEGATIVE_INFINITY;
  /** `Date.now()` less `performance.now()`. */
  private ahead = Date.now() - performance.now();
  private doubtUntil = Number.NEGATIVE_INFINITY;

  /** Call it often. @param retentionMs for how long times are compared with later ones */
  look(retentionMs: number): void {
    const now = performance.now();
    const step = Date.now() - now - this.ahead;
    if (Math.abs(step) > MAX_DRIFT_MS) this.movedAt = now;
    // Until it is as late as it was, senders go on from the latest time that they have given.
    if (step < -MAX_DRIFT_MS) this.doubtUntil = Math.max(this.doubtUntil, now + retentionMs - step);
    // Several small steps back are a large one.
    if (step > 0 || step < -MAX_DRIFT_MS) this.ahead += step;
  }

  /** Whether it was set back, so that an earlier time may be that of something later. */
  get wasSetBack(): boolean {
    return performance.now() < this.doubtUntil;
  }
}
