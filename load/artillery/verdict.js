/** From this many cores on, artillery's one thread is late with what it should do, and with what it measures. */
const BUSY = 0.8;
/** From this share of the machine's cores on, other programs and other guests of the host get in the way. */
const TAKEN = 0.2;

/** Errors that a server on a slow machine may cause without a fault of its own. Any other one decides. */
const OF_SLOWNESS = ['NO_REPLY', 'NO_RECONNECTION', 'CONNECTION_LOST', 'USERS_MISSING', 'OVERLOADED', 'timeout'];

/**
 * What a run of artillery says of the server:
 * - `ok`: all thresholds were met, even if the machine was slow.
 * - `inconclusive`: some were missed, and machine or artillery may be the reason for all of it: the `reasons`.
 * - `failed`: some were missed, and the server is the reason.
 *
 * @typedef {{ code: number | null, printed: string, report?: object }} Run the code is null where a run took too long
 * @param {Run} run
 * @param {{ artillery: number, server: number }} cpu cores that were busy; NaN where that is unknown
 * @param {{ cores: number, used: number, stolen: number }} machine what the whole machine has used, in cores
 */
export function verdictOf({ code, printed, report: { counters = {} } = {} }, cpu, machine) {
  const reasons = disturbances(cpu, machine);
  const hasMissed = /^fail: /m.test(printed);
  // Artillery ends with 0 as well where it has checked nothing.
  if (code === 0 && !hasMissed && /^ok: /m.test(printed)) return { verdict: 'ok', reasons };
  const errors = Object.keys(counters).flatMap((key) => (key.startsWith('errors.') ? [key.slice(7)] : []));
  // Whatever else ends artillery is no matter of time.
  const isLate = (code === 1 && hasMissed) || code === null;
  const isExplained = isLate && reasons.length > 0 && errors.every((error) => OF_SLOWNESS.includes(error));
  return { verdict: isExplained ? 'inconclusive' : 'failed', reasons };
}

/** Why a run tells nothing of the server, though thresholds were missed. */
function disturbances(cpu, { cores, used, stolen }) {
  const reasons = [];
  if (cpu.artillery > BUSY) reasons.push('artillery was the bottleneck');
  if (stolen > cores * TAKEN) reasons.push(`the host took ${stolen.toFixed(1)} of ${cores} cores away`);
  const others = used - cpu.artillery - cpu.server;
  if (others > cores * TAKEN) reasons.push(`other programs took ${others.toFixed(1)} of ${cores} cores`);
  return reasons;
}
