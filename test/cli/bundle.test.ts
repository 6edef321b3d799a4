import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';

/** The packages that a file of the bundle loads when it is loaded, through other files of the bundle too. */
function packagesOf(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const statements = /^(?:const.+?= ?)?require\("([^"]+)"\);/gm;
  const sources = [...readFileSync(file, 'utf8').matchAll(statements)].map(([, source]) => source!);
  const packages = sources.flatMap((source) =>
    source.startsWith('.') ? packagesOf(join(dirname(file), source), seen) : [source],
  );
  return [...new Set(packages)].filter((name) => !name.startsWith('node:')).sort();
}

/** The file in which a function of the bundle is loaded late. */
function lateFileOf(name: string, from: string): string {
  const [, source] = new RegExp(`\\b${name}(?::\\w+)?\\}=await .+?require\\("([^"]+)"\\)`).exec(
    readFileSync(from, 'utf8'),
  )!;
  return join(dirname(from), source!);
}

test('a primary and its hub do not load what only workers use', () => {
  const service = lateFileOf('runService', 'dist/main.js');
  const run = lateFileOf('runApplication', 'dist/main.js');
  expect(packagesOf('dist/main.js')).toEqual([]);
  expect(packagesOf(service)).toEqual(['pino']);
  expect(packagesOf(run)).toEqual(['pino']);
  const hub = ['cluster/hub/thread', 'features/state/hub-service', 'features/recovery/hub-service'];
  const packages = hub.flatMap((part) => packagesOf(`dist/${part}.js`));
  expect(packages.filter((name) => name !== 'socket.io-parser')).toEqual([]);
});
