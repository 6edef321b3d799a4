import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { docs, reportOf } from '../load/report/report.js';

const root = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string) => readFileSync(path, 'utf8');

test('the report of the benchmarks is what its results make, and names no folder of the machine', () => {
  const results = join(docs, 'benchmarks/results.jsonl');
  for (const [file, text] of reportOf([results]))
    expect({ file, text: read(join(docs, file)) }).toEqual({ file, text });
  expect(read(results).match(/"(?:\/(?:home|root|tmp|work|Users)\/)[^"]*"/g)).toBeNull();
});

test('the benchmarks measure the packages that gjallar runs on, and are not installed with it', () => {
  const { devDependencies: own, ...load } = JSON.parse(read(join(root, 'load/package.json')));
  const { dependencies, devDependencies } = JSON.parse(read(join(root, 'package.json')));
  const shared = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) => name in own);
  expect(shared.length).toBeGreaterThan(5);
  expect(own).toMatchObject(Object.fromEntries(shared));
  expect(load.dependencies).toBeUndefined();
});
