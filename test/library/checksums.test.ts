import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/folder.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  optionalDependencies: Record<string, string>;
};
const binaries = Object.entries(optionalDependencies);
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, { version: string; integrity: string }>;
};
const recorded = JSON.parse(readFileSync(join(root, '.ci/binaries.json'), 'utf8')) as Record<string, string>;

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

/** A package of the folder, as npm installs it: the binary of this machine, under any name and version. */
function put(name: string, version: string): string {
  const target = join(folder, name);
  mkdirSync(target, { recursive: true });
  const [own] = binaries.filter(([each]) => each.endsWith(`-${process.versions.node.split('.', 1)[0]}`));
  cpSync(join(root, 'node_modules', own![0]), target, { recursive: true });
  const { version: _, ...fields } = JSON.parse(readFileSync(join(target, 'package.json'), 'utf8'));
  writeFileSync(join(target, 'package.json'), JSON.stringify({ ...fields, version }));
  return join(target, 'uws.node');
}

function compare() {
  const { status, stderr } = spawnSync(process.execPath, ['.ci/checksums.mjs', folder], {
    cwd: root,
    encoding: 'utf8',
  });
  return { status, stderr };
}

const [name, version] = binaries.find(([each]) => each.endsWith(`-${process.versions.node.split('.', 1)[0]}`))!;

test('each binary that users install has a checksum, and its package one in the lock file', () => {
  expect(binaries.map(([each, of]) => `${each}@${of}`)).toEqual(Object.keys(recorded));
  for (const [each, of] of binaries)
    expect(lock.packages[`node_modules/${each}`]).toMatchObject({
      version: of,
      integrity: expect.stringMatching(/^sha512-/),
    });
});

test('the installed binary is the recorded one', () => {
  put(name, version);
  expect(compare()).toEqual({ status: 0, stderr: '' });
});

test('a binary with one more byte is found', () => {
  appendFileSync(put(name, version), '\0');
  expect(compare()).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('has another binary than the recorded'),
  });
});

test('a package of another version, and a folder without packages, are found', () => {
  expect(compare()).toMatchObject({ status: 1, stderr: expect.stringContaining('there is no binary') });
  put(name, '20.0.0');
  expect(compare()).toMatchObject({ status: 1, stderr: expect.stringContaining('version 20.0.0 instead of') });
});
