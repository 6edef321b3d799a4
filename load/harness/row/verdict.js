/** A generator, or the generators that share a core, busier than this delay what they time. */
export const GENERATOR_LIMIT = 0.9;

/** Below this share of what was offered, a server has not kept up. */
const KEPT_UP = 0.95;

/** From this share of its cores on, a server that has not kept up has reached its limit; below, something held it up. */
const BUSY = 0.85;

/** From this share on, a server has no time left even where it keeps up. */
const FULL = 0.95;

/**
 * Did the server keep up with an open loop?
 * - `saturated`: no, it had no time left, or it only just did. Its cost per message stands; its latency grows with the length
 *   of the run.
 * - `starved`: no, though it had time left. Generator or machine were in the way, so the row says nothing.
 */
export function keptUp(offered, achieved, server) {
  const behind = achieved < offered * KEPT_UP;
  return { saturated: server >= (behind ? BUSY : FULL), starved: behind && server < BUSY };
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
