// Counts the lines of each folder in docs/internals/load.md. `node test/support/load-lines.mjs --write` updates the page;
// without --write, it reports the rows that are more than a fifth off. It exits with 1 if a row is, if a folder has no row, if
// a row names a folder that is gone, or if a folder has more than twelve files.
//
// A file belongs to the row of the nearest folder. Lock files and results do not count.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MOST_FILES = 12;
const ROW = /^\| (?:`([\w/]+)`|files in `load\/`) \| ([\d,]+) \|/;
const NOT_COUNTED = /(^|\/)(package-lock\.json|Cargo\.lock|go\.sum)$|^load\/results\//;

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = join(root, 'docs/internals/load.md');
const text = readFileSync(page, 'utf8');
const rows = new Map();
for (const line of text.split('\n')) {
  const [found, folder = '', lines] = ROW.exec(line) ?? [];
  if (found) rows.set(folder, { line, told: Number(lines.replace(',', '')), lines: 0 });
}
const findings = [];
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'load'], { cwd: root, encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((file) => existsSync(join(root, file)));
const counts = new Map();
for (const file of files) {
  const parts = file.split('/').slice(1, -1);
  const folder = parts.join('/');
  counts.set(folder, (counts.get(folder) ?? 0) + 1);
  if (NOT_COUNTED.test(file)) continue;
  while (parts.length > 0 && !rows.has(parts.join('/'))) parts.pop();
  if (parts.length === 0 && folder !== '') findings.push(`no row: ${file}`);
  else rows.get(parts.join('/')).lines += readFileSync(join(root, file), 'utf8').split('\n').length - 1;
}
for (const [folder, count] of counts) if (count > MOST_FILES) findings.push(`load/${folder} has ${count} files`);

const rounded = (lines) => (Math.round(lines / 10) * 10).toLocaleString('en-US');
let written = text;
for (const [folder, { line, told, lines }] of rows) {
  if (lines === 0) findings.push(`not there: load/${folder}`);
  else if (Math.abs(lines - told) > lines / 5)
    findings.push(`load/${folder}: ${told} lines in the page, ${lines} today`);
  written = written.replace(line, line.replace(/\| [\d,]+ \|/, `| ${rounded(lines)} |`));
}
if (process.argv.includes('--write')) writeFileSync(page, written);
for (const finding of findings) console.error(finding);
const total = [...rows.values()].reduce((sum, { lines }) => sum + lines, 0);
console.log(`${rows.size} rows: ${total} lines today`);
process.exitCode = findings.length > 0 ? 1 : 0;
