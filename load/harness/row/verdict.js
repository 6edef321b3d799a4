/** A generator, or the generators that share a core, busier than this delay what they time. */
export const GENERATOR_LIMIT = 0.9;

/** Below this share of what was offered, a server has not kept up. */
const KEPT_UP = 0.95;

/** From this share of its cores on, a server that has not kept up has reached its limit; below, something held it up. */
const BUSY = 0.85;

/** From this share on, a server has no time left even where it keeps up. */
export const FULL = 0.95;

/** A queue that grows all the time makes the second half of a window slower than the first, by this factor and so many ms. */
const GROWTH = 1.5;
const GROWTH_MS = 20;

/**
 * Did the server keep up with an open loop?
 * - `saturated`: no, it had no time left, or its latency grew through the run. Its cost per message stands; its latency says
 *   how long the run was.
 * - `starved`: no, though it had time left. Generator or machine were in the way, so the row says nothing.
 * @param {{ latency: Timed, early: Timed }} [timed] the latencies of the window, and of its first half
 * @typedef {import('../../generator/histogram.js').Histogram} Timed
 */
export function keptUp(offered, achieved, server, { latency, early } = {}) {
  const behind = achieved < offered * KEPT_UP;
  const late = early && latency.count > early.count ? (latency.sum - early.sum) / (latency.count - early.count) : 0;
  const grows = early && late > early.mean * GROWTH && late > early.mean + GROWTH_MS;
  return { saturated: grows || server >= (behind ? BUSY : FULL), starved: behind && server < BUSY };
}

/**
 * What makes a result worthless, and what a reader should know about it.
 * @returns {{ valid: boolean, note: string }}
 */
export function verdict({ generators, others, errors, ended, saturated, starved }) {
  const faults = [];
  const remarks = [];
  if (generators?.saturated) faults.push(`generator at ${Math.round(generators.busiest * 100)}%`);
  if (errors > 0) faults.push(`${errors} wrong messages`);
  if (ended > 0) faults.push(`${ended} connections lost`);
  if (starved) faults.push('did not keep up though not busy');
  if (saturated) remarks.push('saturated');
  if (others > 0.2) remarks.push(`other programs took ${others.toFixed(1)} cores`);
  const note = [...(faults.length > 0 ? [`INVALID: ${faults.join(', ')}`] : []), ...remarks].join('; ');
  return { valid: faults.length === 0, note };
}
