import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { benchmarks } from '../benchmarks/index.js';
import { figures } from './figures.js';
import { tightenRatchet } from './ratchet.js';

for (const [name, { benchmark, cell, key }] of Object.entries(figures)) {
  test(`${name} is a figure of a cell that exists`, () => {
    const { cells, columns } = benchmarks[benchmark];
    assert.ok(cells(false).some(({ label }) => label === cell));
    assert.ok(columns.some((column) => column.key === key));
  });
}

test('the ratchet keeps the better ratio, and none of uncommitted changes or that was not measured', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-ratchet-'));
  const file = join(folder, 'ratchet.json');
  const date = '2026-11-23T00:00:00.000Z';
  const keep = (commit, ratios) => {
    const measured = Object.entries(ratios).map(([name, ratio]) => ({ name, ratio, commit, date }));
    tightenRatchet(measured, file);
    return JSON.parse(readFileSync(file, 'utf8'));
  };
  const first = { echo: { ratio: 0.45, commit: 'aaa', date } };
  assert.deepEqual(keep('aaa', { echo: 0.45 }), first);
  assert.deepEqual(keep('bbb-dirty', { echo: 0.1, connect: 0.1 }), first);
  const second = { ...first, connect: { ratio: 0.4, commit: 'ccc', date } };
  assert.deepEqual(keep('ccc', { echo: 0.5, connect: 0.4, memory: Number.NaN }), second);
  assert.deepEqual(keep('ddd', { echo: 0.4241 }).echo, { ratio: 0.424, commit: 'ddd', date });
  rmSync(folder, { recursive: true });
});
