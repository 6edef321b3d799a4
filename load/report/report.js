// The files of the report, from the rows that the benchmarks have written.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { benchmarks } from '../benchmarks/index.js';
import { cellsOf, ENOUGH_RUNS, groupRows, readRows, USUAL, usedRows } from './groups.js';
import { losses, overview, readmeTable, sizingCosts, sizingSection } from './overview.js';
import { draw, plotOf } from './plots.js';
import { publishedFor } from './published.js';
import { benchmarkTable } from './tables.js';

export const docs = fileURLToPath(new URL('../../docs/', import.meta.url));

/**
 * Every file of the report, as its path in docs/, with its text.
 * @param {readonly string[]} files of rows
 * @returns {[path: string, text: string][]}
 * @throws Error if a benchmark has not written one of them
 */
export function reportOf(files) {
  // Rounded first, so that what is kept makes the same report.
  const lines = usedRows(readRows(files)).filter(isKnown).map(line);
  const rows = lines.map((text) => JSON.parse(text));
  const groups = groupRows(rows);
  return [
    ['benchmarks.md', page(rows, groups)],
    section('../README.md', readmeTable(groups)),
    section('guide/scaling.md', sizingSection(groups)),
    ['benchmarks/costs.json', sizingCosts(groups)],
    ['benchmarks/results.jsonl', `${lines.join('\n')}\n`],
  ];
}

/** The plots of the report, as their paths in docs/ with what is in them. @returns {Promise<[path: string, text: string][]>} */
export async function plotsOf(files) {
  const groups = groupRows(usedRows(readRows(files)).filter(isKnown));
  const drawn = Object.entries(benchmarks).map(async ([name, benchmark]) => {
    const plot = plotOf(name, benchmark, groups);
    return plot ? [[plot.file, await draw(name, benchmark, groups)]] : [];
  });
  return (await Promise.all(drawn)).flat();
}

/** A row as one line of JSON. Six digits are more than any of these figures deserves. */
const line = (row) =>
  JSON.stringify(row, (_, value) =>
    Number.isFinite(value) && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value,
  );

/** Whether the benchmark of a row is still there, and its peer where the benchmark has peers of its own. */
function isKnown({ benchmark, peer }) {
  const { peers } = benchmarks[benchmark] ?? { peers: {} };
  return !peers || peer in peers;
}

function page(rows, groups) {
  const measured = Object.entries(benchmarks).filter(([name]) => groups.some(({ benchmark }) => benchmark === name));
  const missing = Object.keys(benchmarks).filter((name) => !measured.some(([known]) => known === name));
  const chapters = measured.map(([name, benchmark]) => chapter(name, benchmark, groups));
  const parts = [
    introduction,
    `## gjallar and stock Socket.IO\n\n${overview(groups)}`,
    `## What gjallar loses

Each row in the results in which another server costs less, answers sooner or carries more, also if that server was saturated:
stock Socket.IO, node:http with or without Express, and the handwritten servers in JavaScript, Go, Java and Rust. A busy gjallar worker collects messages for up to \`FLUSH_MS\` (25 ms by default). That is
why its latency is higher and its CPU time lower.

${losses(groups, measured)}`,
    legend,
    ...chapters,
    `## Machines and commands\n\n${provenance(rows)}`,
    ...(missing.length > 0 ? [`Without results so far: ${missing.map((name) => `\`${name}\``).join(', ')}.`] : []),
  ];
  return `${parts.join('\n\n')}\n`;
}

const introduction = `# Benchmarks

This page compares gjallar with stock Socket.IO and with other servers, and lists what gjallar loses.
\`npm run bench:report\` writes it from the recorded results in \`docs/benchmarks/results.jsonl\`, so do not edit it by hand.
[load/README.md](../load/README.md) describes the benchmarks and the peers.

- Server and load generator ran on the same machine, on a core each. CPU times are those of the server alone.
- A run that disturbed itself is \`INVALID\`: lost connections, or a load generator at its limit. It is never compared.
- Servers on Node.js run with \`--max-semi-space-size=2\`, as gjallar's service does, where a cell names no other flags. It saves
  2 to 3 KB of memory per client.
- "Quick" runs last a few seconds. Absolute figures differ between machines by a factor of two; ratios differ less.`;

const legend = `## How to read the tables of the benchmarks

- Each figure is the median of all runs, with the minimum and maximum in parentheses. † marks fewer than ${ENOUGH_RUNS} runs, whose spread says little.
- **×** compares with gjallar: a row's figure divided by gjallar's. For a cost or a latency, more than 1× is in favor of gjallar;
  for a rate, less than 1×. Where a cell has several rows of gjallar, each row is compared with the one of its kind, or
  else with the first.
- A server above 95% of its cores, or whose latency grows through the run, is saturated. Its latency is not compared, because it
  says how long the run was. Its cost per message is.
- A row whose runs were all INVALID is struck out and not compared.
- Rows ran on Node.js ${USUAL} where a cell names no other version.
- Figures in *italics* were published with a workload. They come from other machines and other years: compare their shape,
  not their size. In the plots, blue is gjallar, yellow other servers measured here, and grey what others have published; a hollow
  point is of a saturated server.`;

function chapter(name, benchmark, groups) {
  const { about, columns } = benchmark;
  const published = publishedFor(name);
  const plot = plotOf(name, benchmark, groups);
  return [
    `## ${name}`,
    `${about[0].toUpperCase()}${about.slice(1)}.`,
    ...(published ? [published.about] : []),
    ...(plot ? [plot.markdown] : []),
    benchmarkTable(columns, cellsOf(groups, name, benchmark), published?.cell),
  ].join('\n\n');
}

/** Where, when, of what and how. */
function provenance(rows) {
  const every = (of) => [...new Set(rows.map(of).filter((text) => text !== undefined))];
  const days = every(({ date }) => date.slice(0, 10)).sort();
  const machines = every(({ machine: { cores, cpu, memory, kernel, pinned } }) => {
    const where = pinned ? 'server and generators on separate cores' : 'not pinned to cores';
    return `${cores} cores, ${cpu}, ${Math.round(memory / 2 ** 30)} GiB, Linux ${kernel}, ${where}`;
  });
  const versions = every(({ versions: all }) =>
    Object.entries(all)
      .map((one) => one.join(' '))
      .join(', '),
  );
  const facts = [
    ['date', days.length > 1 ? `${days[0]} to ${days.at(-1)}` : days[0]],
    ['machine', machines.join('<br>')],
    ['versions', versions.join('<br>')],
    ['commit, where the history has it', every(({ commit }) => commit).join(', ')],
    ['commands', every(({ command }) => `\`${command}\``).join('<br>')],
  ];
  return `| | |\n|---|---|\n${facts.map(([name, text]) => `| ${name} | ${text} |`).join('\n')}`;
}

const BEGIN = '<!-- from here written by npm run bench:report -->';
const END = '<!-- to here -->';

/** A handwritten page with its one section that comes from the results. */
function section(file, text) {
  const [before, rest] = readFileSync(join(docs, file), 'utf8').split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`${file} lacks the marks "${BEGIN}" and "${END}"`);
  return [file, `${before}${BEGIN}\n\n${text}\n\n${END}${after}`];
}
