import { MalformedMessage } from '../../../errors.js';

/** How many workers may appear at once, and how many more in each second. */
const MAX_AT_ONCE = 1000;
const PER_SECOND = 100;

/**
 * Bounds how fast other workers appear, because each one costs a greeting and a place in every list. A worker that is
 * turned away says two seconds later that it is there.
 */
export class Newcomers {
  private free = MAX_AT_ONCE;
  private countedAt = performance.now();

  /** @throws MalformedMessage if too many have appeared */
  admit(): void {
    const now = performance.now();
    this.free = Math.min(MAX_AT_ONCE, this.free + ((now - this.countedAt) * PER_SECOND) / 1000);
    this.countedAt = now;
    if (this.free < 1) {
      throw new MalformedMessage(`more than ${MAX_AT_ONCE} workers appear at once, and then ${PER_SECOND} a second`);
    }
    this.free--;
  }
}
