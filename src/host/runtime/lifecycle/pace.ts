/** How many clients are on their way at once, at least and at most: each waits for those before it. */
const LEAST = 4;
const MOST = 16;
/** How long it takes until the next one leaves, in ms, if there is time: both workers need about a third of it for each. */
const INTERVAL_MS = 4;

/**
 * How many clients may be on their way at once: few, unless the others would be late.
 * @param count how many have still to leave
 * @param aloneMs how long one is on its way that waits for no other one
 * @param leftMs how long there is for all
 */
export function windowFor(count: number, aloneMs: number, leftMs: number): number {
  // Twice as fast as necessary: what comes last may take longer.
  return Math.min(MOST, Math.max(LEAST, Math.ceil((2 * count * aloneMs) / Math.max(1, leftMs))));
}

/** How long it takes until the next one leaves, in ms. */
export function intervalFor(count: number, leftMs: number): number {
  return Math.min(INTERVAL_MS, Math.max(0, leftMs) / (2 * Math.max(1, count)));
}
