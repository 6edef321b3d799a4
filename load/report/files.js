// The files of the report, from the rows that the benchmarks have written.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { benchmarks } from '../benchmarks/index.js';
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

export const docs = fileURLToPath(new URL('../../docs/', import.meta.url));

/**
 * Every file of the report, as its path in docs/, with its text.
 * @param {readonly string[]} files of rows
 * @returns {Promise<[path: string, text: string][]>}
 * @throws Error if a benchmark has not written one of them
 */
export async function reportOf(files) {
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
