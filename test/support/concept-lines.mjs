// Counts the lines of each mechanism in docs/internals/concepts.md. `node test/support/concept-lines.mjs --write` updates
// the column "now"; without --write, it reports the rows that are more than a fifth off. It exits with 1 if a row is, if a
// file belongs to no row, or if a row names a file that is gone.
//
// A row names files and folders of src/. A file belongs to the row that names it most closely.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = join(root, 'docs/internals/concepts.md');

/** A row: the mechanism, its paths in backticks, its promise, what fails without it, the lines before, and now. */
const ROW = /^\| ([^|]+) \| (`[^|]+) \| ([^|]+) \| ([^|]+) \| (\d+|–) \| (\d+|–) \| ([^|]+) \|$/;

const text = readFileSync(page, 'utf8');
const rows = text.split('\n').flatMap((line) => {
  const [, name, files, , , before, now, decision] = ROW.exec(line) ?? [];
  if (!name) return [];
  const paths = [...files.matchAll(/`([^`]+)`/g)].map(([, path]) => path);
  return [{ line, name, paths, before: Number(before) || 0, now: Number(now) || 0, decision, lines: 0 }];
});
const owners = new Map(rows.flatMap((row) => row.paths.map((path) => [path, row])));
const used = new Set();
const findings = [];

for (const file of readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })) {
  if (!file.endsWith('.ts')) continue;
  let path = file.replaceAll('\\', '/');
  while (path && !owners.has(path)) path = path.slice(0, Math.max(0, path.lastIndexOf('/')));
  if (path) {
    used.add(path);
    owners.get(path).lines += readFileSync(join(root, 'src', file), 'utf8').split('\n').length - 1;
  } else {
    findings.push(`no row: src/${file}`);
  }
}
for (const [path, { decision }] of owners) {
  if (!used.has(path) && !decision.startsWith('deleted')) findings.push(`not there: src/${path}`);
}

if (process.argv.includes('--write')) {
  let written = text;
  for (const { line, lines } of rows) {
    written = written.replace(line, () => line.replace(/\| (?:\d+|–) \|([^|]+)\|$/, `| ${lines || '–'} |$1|`));
  }
  writeFileSync(page, written);
} else {
  const isClose = (told, lines) => Math.abs(told - lines) <= Math.max(50, lines / 5);
  for (const { name, now, lines } of rows) {
    if (!isClose(now, lines)) findings.push(`${name}: ${now} lines in the table, ${lines} today`);
  }
}

const sum = (key) => rows.reduce((total, row) => total + row[key], 0);
console.log([...findings, `${rows.length} rows: ${sum('before')} lines before, ${sum('lines')} today`].join('\n'));
if (findings.length > 0) process.exitCode = 1;
