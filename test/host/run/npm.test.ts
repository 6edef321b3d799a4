import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

const root = fileURLToPath(new URL('../../../', import.meta.url));

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gjallar-npm-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

test('npm start builds again after a source has changed, has come or has gone, and after npm install', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } };
  // The build is part of it: with `ignore-scripts` of .npmrc, npm runs no `prestart`.
  expect(scripts.start).toBe('(node deploy/is-built.js || npm run build) && node dist/main.js');
  const [before, built, after] = [100, 200, 300];
  const files = [
    'src/part/one.ts',
    'compare/src/two.ts',
    'bundle.js',
    'package.json',
    'node_modules/.package-lock.json',
  ];
  const main = 'dist/main.js';
  for (const file of [...files, main]) {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    writeFileSync(join(folder, file), '');
  }
  cpSync(join(root, 'deploy/is-built.js'), join(folder, 'deploy/is-built.mjs'));
  const isBuilt = () => spawnSync(process.execPath, [join(folder, 'deploy/is-built.mjs')]).status === 0;
  const touch = (file: string, at: number) => utimesSync(join(folder, file), at, at);
  const all = [...files, 'src', 'src/part', 'compare/src'];
  for (const file of all) touch(file, before);
  touch(main, built);
  expect(isBuilt()).toBe(true);
  for (const file of all) {
    touch(file, after);
    expect([file, isBuilt()]).toEqual([file, false]);
    touch(file, before);
  }
  rmSync(join(folder, main));
  expect(isBuilt()).toBe(false);
});
