/** From this share of its time on, artillery's thread is late with what it should do, and with what it measures. */
const BUSY = 90;

/**
 * What a run of artillery says.
 * @param {{ name: string, code: number | null, end?: string, printed: string, report?: object }} run
 * @param {{ artillery: number, server: number }} cpu cores that were busy; NaN where that is unknown
 */
export function summarize({ name, code, end, printed, report }, cpu) {
  const { counters = {}, summaries = {} } = report ?? {};
  const checks = [...printed.matchAll(/^(ok|fail): (.+)$/gm)].map(([, verdict, expression]) => ({
    ok: verdict === 'ok',
    expression,
  }));
  const count = (what) => counters[`vusers.${what}`] ?? 0;
  return {
    scenario: name,
    // Artillery ends with 0 as well where it has checked nothing.
    ok: code === 0 && checks.length > 0 && checks.every(({ ok }) => ok),
    end: end ?? (report ? undefined : `artillery ended with exit code ${code}`),
    users: { created: count('created'), completed: count('completed'), failed: count('failed') },
    rows: Object.keys(summaries)
      .filter((row) => `duration.${row}` in counters)
      .sort(inOrder)
      .map((row) => ({ row, ...figures(summaries[row], counters[`duration.${row}`]) })),
    errors: Object.fromEntries(
      Object.entries(counters).flatMap(([key, times]) => (key.startsWith('errors.') ? [[key.slice(7), times]] : [])),
    ),
    checks,
    cpu: { ...cpu, thread: (summaries['artillery.busy']?.mean ?? 0) / 100 },
    isArtilleryBusy: (summaries['artillery.busy']?.p75 ?? 0) > BUSY,
  };
}

const inOrder = new Intl.Collator('en', { numeric: true }).compare;

function figures({ count, p50, p95, p99, max }, duration) {
  return { count, perSecond: count > 1 ? (count * 1000) / duration : Number.NaN, p50, p95, p99, max };
}

/** What a person reads. @returns {string[]} lines */
export function describe({ ok, end, users, rows, errors, checks, cpu, isArtilleryBusy }) {
  const { created, completed, failed } = users;
  const lost = Object.entries(errors).map(([code, times]) => `${code} ${number(times)}`);
  const missed = checks.filter((check) => !check.ok);
  const lines = [
    `virtual users  ${number(created)}: ${number(completed)} completed, ${number(failed)} failed`,
    ...(rows.length > 0 ? table(rows) : []),
    `errors         ${lost.length > 0 ? lost.join(', ') : 'none'}`,
    `CPU            artillery ${cores(cpu.artillery)}, its thread busy ${percent(cpu.thread)}; server ${cores(cpu.server)}`,
    ...missed.map(({ expression }) => `MISSED         ${expression}`),
  ];
  if (isArtilleryBusy) {
    lines.push(
      'artillery was the bottleneck: its times and rates are its own, not the server’s; npm run bench loads harder',
    );
  }
  if (end) lines.push(`FAILED         ${end}`);
  else
    lines.push(
      ok
        ? `ok             ${checks.length} thresholds met`
        : `FAILED         ${missed.length} of ${checks.length} thresholds missed`,
    );
  return lines;
}

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
