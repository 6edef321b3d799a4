/** How many things are on their way at once, at most. */
const MAX_SIZE = 64;
/** How much longer each may take because of the others that are on their way with it, in ms. */
const MAX_QUEUED_MS = 15;

/** How many things go on their way together: as many as do not make one another wait, whatever each takes by itself. */
export class Pace {
  size = 1;
  /** How long one takes by itself, in ms. */
  private alone = Number.POSITIVE_INFINITY;

  /**
   * Some have arrived.
   * @param count how many that were
   * @param ms how long that took
   */
  next(count: number, ms: number): void {
    this.alone = count <= 1 ? ms : Math.min(ms, this.alone);
    if (ms - this.alone > MAX_QUEUED_MS) this.size = Math.ceil(this.size / 2);
    else if (count >= this.size) this.size = Math.min(MAX_SIZE, this.size + 1);
  }
}
