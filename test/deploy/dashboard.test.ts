import { expect, test } from '@jest/globals';
import { read } from './support.js';

interface Panel {
  id: number;
  title: string;
  type: string;
  description?: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string }[];
}

const { panels } = JSON.parse(read('deploy/grafana/gjallar.json')) as { panels: Panel[] };
const docs = read('docs/operations/metrics.md');
const charts = panels.filter(({ type }) => type !== 'row');

// `npm run deploy:check grafana` runs the queries. A query that ends in `or vector(0)` would hide a wrong name.
test.each(charts)('the panel "$title" shows metrics that the server has', ({ description, targets = [] }) => {
  expect(description).toMatch(/\S/);
  expect(targets.length).toBeGreaterThan(0);
  for (const { expr } of targets) {
    const names = expr.match(/\b(gjallar|nodejs|process)_\w+/g) ?? [];
    expect(names.length + Number(/\bup\{/.test(expr))).toBeGreaterThan(0);
    for (const name of names) expect(docs).toContain(`| \`${name.replace(/_bucket$/, '')}\` |`);
    expect(expr).toContain('{job=~"$job", instance=~"$instance"');
  }
});

test.each(['gjallar_buffered_bytes', 'gjallar_incoming_bytes', 'gjallar_buffered_closed_total'])(
  'a panel shows %s',
  (name) => {
    expect(charts.flatMap(({ targets = [] }) => targets).some(({ expr }) => expr.includes(`${name}{`))).toBe(true);
  },
);

test('each panel has a place and an id of its own', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
});
