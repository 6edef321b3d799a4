import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import '../../test/support/long.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(new URL('../../docs/gallery.md', import.meta.url), 'utf8');
const run = (...args: string[]) => {
  const all = ['load/matrix.js', 'gallery', ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, all, { cwd: root, encoding: 'utf8' });
  return { status, stdout, stderr };
};
const { gallery, notRun } = (await import(new URL('../matrix/gallery/index.js', import.meta.url).href)) as {
  gallery: Record<string, { version: string; state?: string; isStateless?: boolean }>;
  notRun: Record<string, string>;
};

test('docs/gallery.md has a row for each application that --list names, with its version', () => {
  const { status, stdout, stderr } = run('--list');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const listed = stdout.split('\n').flatMap((line) => /^ {2}(\S+) +(\S+): /.exec(line)?.slice(1) ?? []);
  const rows = [...page.split('## Differences')[0]!.matchAll(/^\| `([^`]+)`.*?\| ([^|]+) \|/gm)];
  expect(
    rows.flatMap(([, name, version]) => [name, version === 'that of Node.js' ? process.versions.node : version]),
  ).toEqual(listed);
});

test('docs/gallery.md says what gjallar run leaves out, and what the gallery lacks', () => {
  const left = Object.keys(gallery).filter((name) => !gallery[name]!.isStateless);
  for (const name of left) {
    expect(gallery[name]!.state).toEqual(expect.any(String));
    const [row = ''] = new RegExp(`^\\| \`${name}\`.*$`, 'm').exec(page) ?? [];
    expect(row).toMatch(/\| ok \| ok \| (?!ok)[^|]+ \| ok \|$/);
  }
  for (const name of Object.keys(notRun)) expect(page).toContain(`| ${name} |`);
});

test('rejects an application that the gallery does not have', () => {
  const { status, stdout, stderr } = run('--only', 'chess');
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(/^matrix: unknown application: chess\..*\n$/);
});
