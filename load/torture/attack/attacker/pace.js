/** A sender that fell further behind than this, in ms, does not catch up: a burst would be another attack. */
const MAX_BEHIND_MS = 250;

/** Spreads bytes evenly over time, so that an attacker sends no more than its rate. */
export class Pace {
  #rate;
  #clock;
  /** When the next byte may be sent, in ms. */
  #next;

  /**
   * @param {number} bytesPerSecond
   * @param {() => number} clock milliseconds
   */
  constructor(bytesPerSecond, clock) {
    this.#rate = bytesPerSecond / 1000;
    this.#clock = clock;
    this.#next = clock();
  }

  /** Reserves `bytes`. @returns {number} how long to wait before they may be sent, in ms */
  take(bytes) {
    const now = this.#clock();
    this.#next = Math.max(this.#next, now - MAX_BEHIND_MS);
    const wait = Math.max(0, this.#next - now);
    this.#next += bytes / this.#rate;
    return wait;
  }
}
