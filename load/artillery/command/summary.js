import { checksOf, disturbances, verdictOf } from './verdict.js';

/**
 * What a run of artillery says.
 * @param {{ name: string, code: number | null, end?: string, printed: string, report?: object }} run
 * @param {{ artillery: number, server: number }} cpu cores that were busy; NaN where that is unknown
 * @param {{ allowance?: number, machine?: { cores: number, used: number, stolen: number } }} conditions how many times
 *   as long as usual everything may take, and what the whole machine has used
 */
export function summarize({ name, code, end, printed, report }, cpu, { allowance = 1, machine } = {}) {
  const { counters = {}, summaries = {} } = report ?? {};
  const checks = checksOf(printed, summaries, allowance);
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

/** What a person reads. @returns {string[]} lines */
export function describe({ verdict, reasons, end, users, rows, errors, checks, cpu }) {
  const { created, completed, failed } = users;
  const lost = Object.entries(errors).map(([code, times]) => `${code} ${number(times)}`);
  const missed = checks.filter((check) => !check.ok);
  const lines = [
    `virtual users  ${number(created)}: ${number(completed)} completed, ${number(failed)} failed`,
    ...(rows.length > 0 ? table(rows) : []),
    `errors         ${lost.length > 0 ? lost.join(', ') : 'none'}`,
    `CPU            artillery ${cores(cpu.artillery)}, its thread busy ${percent(cpu.thread)}; server ${cores(cpu.server)}`,
    ...checks.flatMap(({ expression, allowed }) =>
      allowed === undefined ? [] : [`allowed        ${expression}: ${Math.round(allowed)} ms on this machine`],
    ),
    ...missed.map(({ expression }) => `MISSED         ${expression}`),
    ...reasons.map((reason) => `disturbed      ${reason}`),
  ];
  const outcome =
    end ??
    (verdict === 'ok' ? `${checks.length} thresholds met` : `${missed.length} of ${checks.length} thresholds missed`);
  return [...lines, `${LABELS[verdict].padEnd(14)} ${outcome}`];
}

/** How a verdict is shown. */
export const LABELS = { ok: 'ok', inconclusive: 'INCONCLUSIVE', failed: 'FAILED' };

function table(rows) {
  const lines = [
    ['ms', 'count', 'per second', 'p50', 'p95', 'p99', 'max'],
    ...rows.map(({ row, count, perSecond, p50, p95, p99, max }) => [
      row,
      number(count),
      number(perSecond),
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
