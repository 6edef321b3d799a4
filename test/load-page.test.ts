import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const root = fileURLToPath(new URL('../', import.meta.url));
const page = readFileSync(new URL('../docs/internals/load.md', import.meta.url), 'utf8');
const notCounted = /(^|\/)(package-lock\.json|Cargo\.lock|go\.sum)$|^load\/results\//;
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'load'], { cwd: root, encoding: 'utf8' })
  .trim()
  .split('\n');

/** The rows of the page: lines by folder. */
const rows = new Map(
  [...page.matchAll(/^\| (?:`([\w/]+)`|files in `load\/`) \| ([\d,]+) \|/gm)].map(([, folder = '', lines]) => [
    folder,
    Number(lines!.replace(',', '')),
  ]),
);

/** The row that a file belongs to: the one whose folder is the nearest. */
function rowOf(file: string) {
  const parts = file.split('/').slice(1, -1);
  while (parts.length > 0 && !rows.has(parts.join('/'))) parts.pop();
  return parts.join('/');
}

test('each folder of load/ has a row with its lines, and a row has a folder', () => {
  const counted = new Map<string, number>();
  for (const file of files.filter((name) => !notCounted.test(name))) {
    const row = rowOf(file);
    const lines = readFileSync(`${root}${file}`, 'utf8').split('\n').length - 1;
    counted.set(row, (counted.get(row) ?? 0) + lines);
    // Only what npm and the commands need stands in load/ itself.
    if (row === '') expect(file.split('/')).toHaveLength(2);
  }
  expect([...counted.keys()].sort()).toEqual([...rows.keys()].sort());
  const off = [...counted].filter(([row, lines]) => Math.abs(lines - rows.get(row)!) > lines / 5);
  expect(off).toEqual([]);
});

test('no folder of load/ has more than twelve files', () => {
  const counts = new Map<string, number>();
  for (const file of files) {
    const folder = file.slice(0, file.lastIndexOf('/'));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  expect([...counts].filter(([, count]) => count > 12)).toEqual([]);
});
