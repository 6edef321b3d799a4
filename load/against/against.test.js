import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { benchmarks } from '../benchmarks/index.js';
import { figures } from './figures.js';
import { readRatchet, tighten, writeRatchet } from './ratchet.js';
import { compared, lineOf } from './table.js';

const peers = { stock: 'stock', before: 'before', now: 'now' };
const runs = {
  stock: [{ cost: 60 }, { cost: 50 }],
  before: [{ cost: 30 }, { cost: 20 }, { cost: 25 }],
  now: [{ cost: 40 }, { cost: 22 }, { cost: 24 }, { cost: 26 }],
};
const date = '2026-11-23T00:00:00.000Z';
const known = { echo: { ratio: 0.45, commit: 'aaa', date } };

for (const [name, { benchmark, cell, key }] of Object.entries(figures)) {
  test(`${name} is a figure of a cell that exists`, () => {
    const { cells, columns } = benchmarks[benchmark];
    assert.ok(cells(false).some(({ label }) => label === cell));
    assert.ok(columns.some((column) => column.key === key));
  });
}

test('the comparison has the ratios of the least, of the medians, and to stock', () => {
  const { before, now, ...ratios } = compared(runs, 'cost', peers);
  assert.deepEqual(before, { median: 25, min: 20, max: 30, runs: 3 });
  assert.deepEqual(now, { median: 25, min: 22, max: 40, runs: 4 });
  const { least, medians, toStock, beforeToStock } = ratios;
  assert.deepEqual(
    { least, medians, toStock, beforeToStock },
    { least: 1.1, medians: 1, toStock: 0.44, beforeToStock: 0.4 },
  );
});

test('the comparison shows a peer without a valid run as unknown', () => {
  const line = lineOf('echo', figures.echo, compared({ ...runs, stock: [] }, 'cost', peers), peers);
  assert.match(line, /1\.1 of before by the least, 1 by the medians; – of stock/);
  assert.match(line, /least –/);
});

test('the ratchet keeps the better ratio, and adds figures that it did not have', () => {
  const best = tighten(known, [
    { name: 'echo', ratio: 0.5, commit: 'bbb', date },
    { name: 'connect', ratio: 0.4, commit: 'bbb', date },
  ]);
  assert.deepEqual(best, { ...known, connect: { ratio: 0.4, commit: 'bbb', date } });
  const better = tighten(best, [{ name: 'echo', ratio: 0.4241, commit: 'ccc', date }]);
  assert.deepEqual(better.echo, { ratio: 0.424, commit: 'ccc', date });
});

test('the ratchet keeps no ratio of uncommitted changes, and none that was not measured', () => {
  const measured = [
    { name: 'echo', ratio: 0.1, commit: 'bbb-dirty', date },
    { name: 'echo', ratio: Number.NaN, commit: 'bbb', date },
  ];
  assert.deepEqual(tighten(known, measured), known);
});

test('the ratchet is read as it was written, and empty where there is none', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-ratchet-'));
  const file = join(folder, 'results/ratchet.json');
  assert.deepEqual(readRatchet(file), {});
  writeRatchet(known, file);
  assert.deepEqual(readRatchet(file), known);
  rmSync(folder, { recursive: true });
});
