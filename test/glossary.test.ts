import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

/** Holds docs/internals to the code. */

const root = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => read(join('src', name)));

/** All identifiers of the code. */
const identifiers = new Set(sources.flatMap((text) => text.match(/[A-Za-z_$][\w$]*/g) ?? []));

test('every identifier in the glossary exists in the code', () => {
  const named = [...read('docs/internals/glossary.md').matchAll(/`([A-Za-z_$][\w$]*)`/g)].map(([, name]) => name!);
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((name) => !identifiers.has(name))).toEqual([]);
});

test('every file and identifier in the walks exists', () => {
  const walks = read('docs/internals/walks.md');
  const paths = [...walks.matchAll(/`((?:src|test)\/[\w/.-]+|README\.md)`/g)].map(([, path]) => path!);
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  const named = [...walks.matchAll(/`(?:(\w+)\.)?(\w+)\(\w*\)`/g)].flatMap(([, owner, name]) => [owner, name]);
  const tests = ['busContract', 'clock', 'advance'];
  expect(named.filter((name) => name !== undefined && !identifiers.has(name) && !tests.includes(name))).toEqual([]);
});
