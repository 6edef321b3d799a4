/** From this share of its time on, artillery's thread is late with what it should do, and with what it measures. */
const BUSY = 90;
/** From this share of the machine's cores on, other programs and other guests of the host get in the way. */
const TAKEN = 0.2;

/** Errors that a server on a slow machine may cause without a fault of its own. Any other one decides. */
const OF_SLOWNESS = new Set([
  'NO_REPLY',
  'NO_RECONNECTION',
  'CONNECTION_LOST',
  'USERS_MISSING',
  'OVERLOADED',
  'timeout',
]);

/**
 * @typedef {{ ok: boolean, expression: string, allowed?: number }} Check `allowed` is the time that the baseline allows
 *   instead, in ms, where only that was met
 */

/**
 * What artillery has checked. A time is also good if it is only as much longer as the baseline of this machine is.
 * @param {string} printed
 * @param {object} summaries the times of the report, by row
 * @param {number} allowance a factor
 * @returns {Check[]}
 */
export function checksOf(printed, summaries, allowance) {
  return [...printed.matchAll(/^(ok|fail): (.+)$/gm)].map(([, verdict, expression]) => {
    if (verdict === 'ok') return { ok: true, expression };
    const [, row, figure, limit] = /^(.+)\.(p\d+) < (\d+)$/.exec(expression) ?? [];
    const allowed = limit * allowance;
    return summaries[row]?.[figure] < allowed ? { ok: true, expression, allowed } : { ok: false, expression };
  });
}

/**
 * Why a run tells nothing of the server, though thresholds were missed.
 * @param {object} summaries the times of the report, by row
 * @param {{ artillery: number, server: number }} cpu cores that were busy; NaN where that is unknown
 * @param {{ cores: number, used: number, stolen: number }} [machine] of the whole machine, in cores
 * @returns {string[]}
 */
export function disturbances(summaries, cpu, machine) {
  const reasons = [];
  if ((summaries['artillery.busy']?.p75 ?? 0) > BUSY) reasons.push('artillery was the bottleneck');
  if (!machine) return reasons;
  const { cores, used, stolen } = machine;
  if (stolen > cores * TAKEN) reasons.push(`the host took ${stolen.toFixed(1)} of ${cores} cores away`);
  const others = used - cpu.artillery - cpu.server;
  if (others > cores * TAKEN) reasons.push(`other programs took ${others.toFixed(1)} of ${cores} cores`);
  return reasons;
}

/**
 * - `ok`: all thresholds were met, even if the machine was slow.
 * - `inconclusive`: some were missed, and machine or artillery may be the reason for all of it.
 * - `failed`: some were missed, and the server is the reason.
 * @param {{ code: number | null, checks: Check[], errors: Record<string, number>, reasons: string[] }} run
 */
export function verdictOf({ code, checks, errors, reasons }) {
  const areMet = checks.length > 0 && checks.every(({ ok }) => ok);
  // Artillery ends with 0 as well where it has checked nothing, and with 1 where it has missed what the baseline allows.
  const isRelaxed = checks.some(({ allowed }) => allowed !== undefined);
  if (areMet && (code === 0 || (code === 1 && isRelaxed))) return 'ok';
  // Whatever else ends artillery is no matter of time: null is the limit of a run.
  const isLate = (code === 1 && checks.length > 0) || code === null;
  const isExplained = isLate && reasons.length > 0 && Object.keys(errors).every((error) => OF_SLOWNESS.has(error));
  return isExplained ? 'inconclusive' : 'failed';
}
