import { ENOUGH_RUNS, ratio } from './groups.js';
import { cellTable, markdownTable, times } from './table.js';
import { published, titleOf, workloadSection } from './workloads.js';

/**
 * The whole report, as Markdown.
 * @param {{
 *   rows: object[], that were used
 *   groups: import('./groups.js').Group[],
 *   benchmarks: Record<string, object>,
 *   plots: { benchmark: string, file: string, alt: string }[], those that were drawn
 *   scaling: string, the last chapter
 * }} report
 */
export function page({ rows, groups, benchmarks, plots, scaling }) {
  const measured = Object.entries(benchmarks).filter(([name]) => groups.some(({ benchmark }) => benchmark === name));
  const missing = Object.keys(benchmarks).filter((name) => !groups.some(({ benchmark }) => benchmark === name));
  const parts = [
    '# Benchmarks',
    '`npm run bench:report` writes this page from [benchmarks/results.jsonl](benchmarks/results.jsonl). Do not edit it by hand.',
    provenance(rows),
    legend,
    workloadSection(measured.map(([name]) => name)),
    summary(groups, measured),
    ...measured.map(([name, benchmark]) => chapter(name, benchmark, groups, plots)),
    missing.length > 0 ? `Not measured yet: ${missing.map((name) => `\`${name}\``).join(', ')}.` : '',
    scaling,
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** Where, when, of what and how. */
function provenance(rows) {
  const every = (of) => [...new Set(rows.map(of).filter((text) => text !== undefined))];
  const days = every(({ date }) => date.slice(0, 10)).sort();
  const machines = every(({ machine: { cores, cpu, memory, kernel, pinned } }) =>
    [
      `${cores} cores`,
      cpu,
      `${Math.round(memory / 2 ** 30)} GiB`,
      `Linux ${kernel}`,
      pinned ? 'server and generators on separate cores' : 'not pinned to cores',
    ].join(', '),
  );
  const versions = every(({ versions: all }) =>
    Object.entries(all)
      .map(([name, version]) => `${name} ${version}`)
      .join(', '),
  );
  const facts = [
    ['date', days.length > 1 ? `${days[0]} to ${days.at(-1)}` : days[0]],
    ['machine', machines.join('<br>')],
    ['versions', versions.join('<br>')],
    ['commit', every(({ commit }) => commit).join(', ')],
    ['commands', every(({ command }) => `\`${command}\``).join('<br>')],
  ];
  return `| | |\n|---|---|\n${facts.map(([name, text]) => `| ${name} | ${text} |`).join('\n')}`;
}

const legend = `How to read the tables:

- Each figure is the median of all runs, with the minimum and maximum below it. † marks fewer than ${ENOUGH_RUNS} runs, whose spread says little.
- **×** compares with gjallar: a row's figure divided by gjallar's figure from the same run, as the median over all runs.
  For a cost or a latency, more than 1× is in favor of gjallar; for a rate, less than 1×. Where a table has several rows of gjallar, each row is
  compared with the one of its kind, or else with the first.
- The latency of a saturated server is not compared, because it grows as long as the run lasts.
- A row whose runs were all INVALID is struck out and not compared. [load/README.md](../load/README.md) lists the peers
  and explains \`INVALID\` and \`saturated\`.
- Figures in *italics* were published with the workload. They come from other machines and other years: compare their
  shape, not their size.`;

/** The first cost or latency of each benchmark, for every peer and cell. Of a rate, more would be better. */
function summary(groups, measured) {
  const compared = measured.flatMap(([name, { columns }]) => {
    const column = columns.find((each) => each.ratio && !each.title.endsWith('/s'));
    return column
      ? cellsOf(groups, name)
          .filter((cell) => of(cell, 'gjallar') && cell.length > 1)
          .map((cell) => ({ name, column, cell }))
      : [];
  });
  const every = new Set(compared.flatMap(({ cell }) => cell.map(({ peer }) => peer)));
  const peers = [...every].filter((peer) => peer !== 'gjallar');
  if (peers.length === 0) return '';
  const rows = compared.map(({ name, column, cell }) => [
    `${name}: ${cell[0].cell}`,
    ...peers.map((peer) => {
      const group = of(cell, peer);
      return group ? times(ratio(group, of(cell, 'gjallar'), column)) : '–';
    }),
    column.title,
  ]);
  return `## At a glance

Each peer's cost divided by gjallar's. Above 1×, gjallar is cheaper.

${markdownTable(['', ...peers, 'of'], rows, 1)}`;
}

const of = (cell, name) => cell.find(({ peer }) => peer === name);

/** The groups of a benchmark, by cell. */
function cellsOf(groups, name) {
  const cells = new Map();
  for (const group of groups.filter(({ benchmark }) => benchmark === name)) {
    if (!cells.has(group.cell)) cells.set(group.cell, []);
    cells.get(group.cell).push(group);
  }
  return [...cells.values()];
}

function chapter(name, { about, columns }, groups, plots) {
  const known = published[name] ?? { tables: [] };
  const cells = cellsOf(groups, name);
  const alone = columns.map((column) => ({ ...column, ratio: false }));
  const tables = cells.every((cell) => cell.length === 1)
    ? [cellTable(alone, cells.flat(), { label: ({ cell }) => cell })]
    : cells.flatMap((cell) => [
        `### ${name}: ${cell[0].cell}`,
        cellTable(columns, cell, { published: known.cell?.(cell[0].parameters) }),
      ]);
  return [
    `## ${name}`,
    `${about[0].toUpperCase()}${about.slice(1)}.`,
    ...plots.filter(({ benchmark }) => benchmark === name).map(({ file, alt }) => `![${alt}](benchmarks/${file})`),
    ...tables,
    ...known.tables.flatMap(publishedTable),
  ].join('\n\n');
}

function publishedTable({ workload, about, head, rows }) {
  return [`### ${titleOf(workload)}, as published`, about, markdownTable(head, rows)];
}
