import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { imports, picture, pictureOfPage, roomOf } from '../docs/site/house.js';

const source = fileURLToPath(new URL('../src', import.meta.url));

/**
 * Who may touch process.env besides src/host/config: to hand it over, for what the primary tells its workers, for what
 * uWebSockets.js reads when it is loaded, and for applications that run unmodified.
 */
const environmentReaders = [
  join('cli', 'commands.ts'),
  join('cli', 'primary.ts'),
  join('cli', 'run.ts'),
  join('cli', 'service.ts'),
  join('host', 'run', 'preload.ts'),
  join('host', 'runtime', 'surroundings.ts'),
  join('engine', 'uws', 'environment.ts'),
];

const files = [...imports.keys()];

describe('imports', () => {
  test('are all found, and lead to files that are there', () => {
    expect(files.length).toBeGreaterThan(30);
    for (const [file, found] of imports) {
      for (const { path } of found) expect({ file, path, isThere: imports.has(path) }).toMatchObject({ isThere: true });
    }
  });

  test('point to rooms below; those of types may point up', () => {
    expect(files.filter((file) => roomOf(file) < 0)).toEqual([]);
    const upward = files.flatMap((file) => {
      // The chat uses the library as other applications do.
      const isPublic = (path: string) => path === 'index.ts' && file.startsWith('service');
      const wrong = imports
        .get(file)!
        .filter(({ path, isLoaded }) => isLoaded && roomOf(path) > roomOf(file) && !isPublic(path));
      return wrong.map(({ path }) => `${file} imports ${path}`);
    });
    expect(upward).toEqual([]);
  });

  test('are as docs/internals/house.md shows them', () => {
    expect(pictureOfPage()).toBe(picture());
  });

  test('never lead back to where they began, but for those of types', () => {
    const cycles: string[] = [];
    const state = new Map<string, 'open' | 'done'>();
    const visit = (file: string, path: string[]): void => {
      if (state.get(file) === 'open') cycles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      if (state.has(file)) return;
      state.set(file, 'open');
      for (const next of imports.get(file) ?? []) if (next.isLoaded) visit(next.path, [...path, file]);
      state.set(file, 'done');
    };
    for (const file of files) visit(file, []);
    expect(cycles).toEqual([]);
  });
});

/** What Socket.IO prescribes for a parser, and what the codecs of both versions of Engine.IO have. */
const prescribed = new Set(['Encoder', 'decodeText', 'encodePayload', 'readPayload']);

test('no two files export something else under one name', () => {
  const files = new Map<string, string[]>();
  for (const file of imports.keys()) {
    const text = readFileSync(join(source, file), 'utf8');
    const found = text.matchAll(/^export (?:abstract |async )*(?:class|interface|type|function\*?) (\w+)/gm);
    for (const name of new Set([...found].map(([, name]) => name!)))
      files.set(name, [...(files.get(name) ?? []), file]);
  }
  expect([...files].filter(([name, { length }]) => length > 1 && !prescribed.has(name))).toEqual([]);
});

test('nothing but the configuration reads the environment', () => {
  const readers = files.filter((file) => /\bprocess\.env\b/.test(readFileSync(join(source, file), 'utf8')));
  expect(
    readers.filter((file) => !file.startsWith(join('host', 'config')) && !environmentReaders.includes(file)),
  ).toEqual([]);
});
