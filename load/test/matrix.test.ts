import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { applications } from '../matrix/applications.js';
import '../../test/support/long.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(new URL('../../docs/gallery.md', import.meta.url), 'utf8');

const run = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['load/matrix.js', ...args], {
    cwd: root,
    encoding: 'utf8',
    timeout: 100_000,
  });
  return { status, stdout, stderr };
};

test('an application gives the same on stock socket.io and on gjallar', () => {
  const { status, stdout, stderr } = run('already-listening', '--way', 'register');
  const [, row] = stdout.split('\n');
  expect(row).toMatch(/^already-listening +equal \(\d{2,} values\)$/);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
}, 110_000);

test('docs/gallery.md has a row for each application that --list names, with its version', () => {
  const { status, stdout, stderr } = run('gallery', '--list');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const listed = stdout.split('\n').flatMap((line) => /^ {2}(\S+) +(\S+): /.exec(line)?.slice(1) ?? []);
  const rows = [...page.split('## Differences')[0]!.matchAll(/^\| `([^`]+)`.*?\| ([^|]+) \|/gm)];
  expect(rows.flatMap(([, name, version]) => [name, version])).toEqual(listed);
  for (const [name] of rows.map(([, ...row]) => row)) {
    const [row = ''] = new RegExp(`^\\| \`${name}\`.*$`, 'm').exec(page) ?? [];
    expect(row).toMatch(
      applications[name!]!.state ? /\| ok \| ok \| (?!ok)[^|]+ \| ok \|$/ : /\| ok \| ok \| ok \| ok \|$/,
    );
  }
});

test('what keeps state in memory is not run with several workers', () => {
  const stateless = Object.keys(applications).filter((name) => applications[name]!.state === undefined);
  expect(stateless).toEqual(expect.arrayContaining(['express-4', 'express-5', 'fastify', 'koa']));
  expect(stateless).not.toContain('express-session');
});
