/** From this share of its time on, artillery's thread is late with what it should do, and with what it measures. */
const BUSY = 90;
/** From this share of the machine's cores on, other programs and other guests of the host get in the way. */
const TAKEN = 0.2;

/** Errors that a server on a slow machine may cause without a fault of its own. Any other one decides. */
const OF_SLOWNESS = ['NO_REPLY', 'NO_RECONNECTION', 'CONNECTION_LOST', 'USERS_MISSING', 'OVERLOADED', 'timeout'];

/**
 * What a run of artillery says.
 * @param {{ name: string, code: number | null, end?: string, printed: string, report?: object }} run
 * @param {{ artillery: number, server: number }} cpu cores that were busy; NaN where that is unknown
 * @param {{ cores: number, used: number, stolen: number }} [machine] what the whole machine has used, in cores
 */
export function summarize({ name, code, end, printed, report }, cpu, machine) {
  const { counters = {}, summaries = {} } = report ?? {};
  const checks = [...printed.matchAll(/^(ok|fail): (.+)$/gm)].map(([, verdict, expression]) => ({
    ...{ ok: verdict === 'ok', expression },
  }));
  const errors = Object.fromEntries(
    Object.entries(counters).flatMap(([key, times]) => (key.startsWith('errors.') ? [[key.slice(7), times]] : [])),
  );
  const reasons = disturbances(summaries, cpu, machine);
  const count = (what) => counters[`vusers.${what}`] ?? 0;
  return {
    scenario: name,
    verdict: verdictOf({ code, checks, errors, reasons }),
    reasons,
    end: end ?? (report ? undefined : `artillery ended with exit code ${code}`),
    users: { created: count('created'), completed: count('completed'), failed: count('failed') },
    rows: Object.keys(summaries)
      .filter((row) => `duration.${row}` in counters)
      .sort(inOrder)
      .map((row) => ({ row, ...figures(summaries[row], counters[`duration.${row}`]) })),
    errors,
    checks,
    cpu: { ...cpu, thread: (summaries['artillery.busy']?.mean ?? 0) / 100 },
  };
}

const inOrder = new Intl.Collator('en', { numeric: true }).compare;

function figures({ count, p50, p95, p99, max }, duration) {
  return { count, perSecond: count > 1 ? (count * 1000) / duration : Number.NaN, p50, p95, p99, max };
}

/** Why a run tells nothing of the server, though thresholds were missed. */
function disturbances(summaries, cpu, machine) {
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
 */
function verdictOf({ code, checks, errors, reasons }) {
  // Artillery ends with 0 as well where it has checked nothing.
  if (code === 0 && checks.length > 0 && checks.every(({ ok }) => ok)) return 'ok';
  // Whatever else ends artillery is no matter of time: null is the limit of a run.
  const isLate = (code === 1 && checks.length > 0) || code === null;
  const isExplained = isLate && reasons.length > 0 && Object.keys(errors).every((error) => OF_SLOWNESS.includes(error));
  return isExplained ? 'inconclusive' : 'failed';
}

/** How a verdict is shown. */
export const LABELS = { ok: 'ok', inconclusive: 'INCONCLUSIVE', failed: 'FAILED' };

/** What a person reads. @returns {string[]} lines */
export function describe({ verdict, reasons, end, users, rows, errors, checks, cpu }) {
  const { created, completed, failed } = users;
  const lost = Object.entries(errors).map(([code, times]) => `${code} ${number(times)}`);
  const missed = checks.filter((check) => !check.ok);
  const met = `${checks.length} thresholds met`;
  const outcome = end ?? (verdict === 'ok' ? met : `${missed.length} of ${checks.length} thresholds missed`);
  return [
    `virtual users  ${number(created)}: ${number(completed)} completed, ${number(failed)} failed`,
    ...(rows.length > 0 ? table(rows) : []),
    `errors         ${lost.length > 0 ? lost.join(', ') : 'none'}`,
    `CPU            artillery ${cores(cpu.artillery)}, its thread busy ${percent(cpu.thread)}; server ${cores(cpu.server)}`,
    ...missed.map(({ expression }) => `MISSED         ${expression}`),
    ...reasons.map((reason) => `disturbed      ${reason}`),
    `${LABELS[verdict].padEnd(14)} ${outcome}`,
  ];
}

function table(rows) {
  const lines = [
    ['ms', 'count', 'per second', 'p50', 'p95', 'p99', 'max'],
    ...rows.map(({ row, count, perSecond, p50, p95, p99, max }) => [
      ...[row, number(count), number(perSecond)],
      ...[p50, p95, p99, max].map((time) => time.toFixed(1)),
    ]),
  ];
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  return lines.map(([row, ...cells]) =>
    [row.padEnd(widths[0]), ...cells.map((cell, i) => cell.padStart(widths[i + 1]))].join('  '),
  );
}

const known = (value, text) => (Number.isFinite(value) ? text : '–');
const number = (value) => known(value, value.toLocaleString('en-US', { maximumFractionDigits: 0 }));
const percent = (value) => known(value, `${Math.round(value * 100)}%`);
const cores = (value) => known(value, `${value.toFixed(2)} cores`);
