import { ENOUGH_RUNS } from '../results/groups.js';
import { subjects } from '../subjects.js';
import { published, titleOf } from '../workloads.js';
import { cellTable, markdownTable } from './table.js';

const legend = `How to read the tables:

- Each figure is the median of all runs, with the minimum and maximum in parentheses. † marks fewer than ${ENOUGH_RUNS} runs, whose spread says little.
- **×** compares with gjallar: a row's figure divided by gjallar's. For a cost or a latency, more than 1× is in favor of gjallar;
  for a rate, less than 1×. Where a table has several rows of gjallar, each row is compared with the one of its kind, or
  else with the first.
- The latency of a saturated server is not compared, because it grows as long as the run lasts.
- A row whose runs were all INVALID is struck out and not compared. [load/README.md](../../load/README.md) lists the peers
  and explains \`INVALID\` and \`saturated\`.
- Figures in *italics* were published with the workload. They come from other machines and other years: compare their
  shape, not their size.`;

/**
 * One page of results for each subject that has any.
 * @param {import('../results/groups.js').Group[]} groups
 * @returns {[string, string][]} file and text
 */
export function detailPages(groups, benchmarks, plots) {
  return Object.entries(subjects).flatMap(([file, { title, names }]) => {
    const known = names.filter((name) => groups.some(({ benchmark }) => benchmark === name));
    if (known.length === 0) return [];
    const chapters = known.map((name) => chapter(name, benchmarks[name], groups, plots));
    return [[`benchmarks/${file}.md`, `${[`# ${title}`, origin, legend, ...chapters].join('\n\n')}\n`]];
  });
}

const origin = `All results of these benchmarks. [benchmarks.md](../benchmarks.md) has the summary, and [method.md](method.md) the machines and
commands.`;

/** The groups of a benchmark, by cell. */
export function cellsOf(groups, name) {
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
    ...plots.filter(({ benchmark }) => benchmark === name).map(({ file, alt }) => `![${alt}](${file})`),
    ...tables,
    ...known.tables.flatMap(publishedTable),
  ].join('\n\n');
}

function publishedTable({ workload, about, head, rows }) {
  return [`### ${titleOf(workload)}, as published`, about, markdownTable(head, rows)];
}
