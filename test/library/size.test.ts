import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const source = fileURLToPath(new URL('../../src', import.meta.url));
const MAX_LINES = 13_200;

/** The modules that a file imports when it is loaded. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const statements = text.matchAll(/^(?:import|export)(?! type)\s([^'";]*?\sfrom\s+)?'(\.[^']+)'/gm);
  const found = [...statements].filter(([, names = '']) => !/^\{(\s*type\s+[^,}]+,?)+\s*\}/.test(names));
  return found.map(([, , path]) => join(dirname(file), path!.replace(/\.js$/, '.ts')));
}

test(`import 'gjallar' loads at most ${MAX_LINES} lines, and neither recovery nor portable sockets`, () => {
  const loaded = new Set([join(source, 'index.ts')]);
  const lines = new Map<string, number>();
  for (const file of loaded) {
    const folder = dirname(relative(source, file));
    lines.set(folder, (lines.get(folder) ?? 0) + readFileSync(file, 'utf8').split('\n').length - 1);
    for (const path of importsOf(file)) loaded.add(path);
  }
  const sum = [...lines.values()].reduce((total, count) => total + count, 0);
  expect(sum).toBeGreaterThan(5000);
  const lazy = ['features/recovery/index.ts', 'engine/node/app.ts'].map((file) => join(source, file));
  expect(lazy.filter((file) => loaded.has(file) || !existsSync(file))).toEqual([]);
  if (sum > MAX_LINES) throw new Error(`${sum} lines: ${JSON.stringify(Object.fromEntries(lines))}`);
});
