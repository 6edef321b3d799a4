// The report of the benchmarks: `npm run bench:report -- [file…] [--out folder]`. See "Report" in load/README.md.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { benchmarks } from '../benchmarks/index.js';
import { listed, parseArguments, readCommandLine } from '../harness/command.js';
import { methodPage } from './method.js';
import { page } from './page.js';
import { plots } from './plots/index.js';
import { draw } from './plots/svg.js';
import { groupRows } from './results/groups.js';
import { line, readRows, usedRows } from './results/rows.js';
import { scalingChapter } from './scaling.js';
import { detailPages } from './sections/details.js';
import { betweenMarks } from './sections/marked.js';
import { overview } from './sections/overview.js';
import { sizingCosts, sizingSection } from './sections/sizing.js';
import { windowsSection } from './sections/windows.js';

const command = { name: 'bench:report', call: 'npm run bench:report --' };
const docs = fileURLToPath(new URL('../../docs/', import.meta.url));
const kept = join(docs, 'benchmarks/results.jsonl');

const usage = () => `${command.call} [file…] [--out folder]

Writes the report of the benchmarks: docs/benchmarks.md, the pages, plots and results in docs/benchmarks, and the tables
of figures in docs/fan-out.md, docs/guide/sizing.md and README.md.

${listed([
  ['file', 'results that npm run bench has written (default: docs/benchmarks/results.jsonl)'],
  ['--out folder', 'where to write instead of docs/'],
  ['--help', 'show this text'],
])}`;

function readArguments() {
  const { values, positionals } = parseArguments({ out: { type: 'string', default: docs } });
  return { ...values, files: positionals.length > 0 ? positionals : [kept] };
}

const { out, files } = await readCommandLine(command, readArguments, usage);

try {
  for (const [file, text] of await report()) {
    const path = join(out, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    console.log(path);
  }
} catch (error) {
  console.error(`bench:report: ${error.message}`);
  process.exitCode = 1;
}

/** Every file of the report, with its text. */
async function report() {
  const read = readRows(files);
  // Rounded first, so that what is kept makes the same report.
  const lines = usedRows(read).map(line);
  const rows = lines.map((text) => JSON.parse(text));
  const groups = groupRows(rows);
  const drawn = [];
  for (const plot of plots) {
    const specification = plot.draw(groups);
    if (specification) drawn.push({ ...plot, svg: await draw(specification, plot.alt) });
  }
  return [
    ['benchmarks.md', page(groups, benchmarks)],
    ...detailPages(groups, benchmarks, drawn),
    ['benchmarks/capacity.md', `${scalingChapter(groups)}\n`],
    ['benchmarks/method.md', methodPage(rows, groups)],
    section('fan-out.md', windowsSection(groups)),
    section('../README.md', overview(groups)),
    section('guide/sizing.md', sizingSection(groups)),
    ['benchmarks/costs.json', sizingCosts(groups)],
    ['benchmarks/results.jsonl', `${lines.join('\n')}\n`],
    ...drawn.map(({ file, svg }) => [`benchmarks/${file}`, svg]),
  ];
}

/** A handwritten page with its one section that comes from the results. */
function section(file, text) {
  return [file, betweenMarks(file, readFileSync(join(docs, file), 'utf8'), text)];
}
