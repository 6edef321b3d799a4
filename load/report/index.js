// `npm run bench:report -- [file…] [--out folder]`: writes the report from what the benchmarks recorded or, without files,
// from the results that are kept beside it. See "Making the report" in README.md of the folder above.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { benchmarks } from '../benchmarks/index.js';
import { groupRows } from './groups.js';
import { betweenMarks } from './marked.js';
import { overview } from './overview.js';
import { page } from './page.js';
import { plots } from './plots/index.js';
import { line, readRows, usedRows } from './rows.js';
import { scalingChapter } from './scaling.js';
import { draw } from './svg.js';
import { windowsSection } from './windows.js';

const docs = fileURLToPath(new URL('../../docs/', import.meta.url));
const { values: options, positionals: files } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string', default: docs } },
});

try {
  for (const [file, text] of await report()) {
    const path = join(options.out, file);
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
  const read = readRows(files.length > 0 ? files : [join(docs, 'benchmarks/results.jsonl')]);
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
    ['benchmarks.md', page({ rows, groups, benchmarks, plots: drawn, scaling: scalingChapter(groups) })],
    section('fan-out.md', windowsSection(groups)),
    section('../README.md', overview(groups)),
    ['benchmarks/results.jsonl', `${lines.join('\n')}\n`],
    ...drawn.map(({ file, svg }) => [`benchmarks/${file}`, svg]),
  ];
}

/** A page that somebody writes, with the section that comes from the results. */
function section(file, text) {
  return [file, betweenMarks(file, readFileSync(join(docs, file), 'utf8'), text)];
}
