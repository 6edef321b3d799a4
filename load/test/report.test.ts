import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { reportOf } from '../report/report.js';

const root = new URL('../../', import.meta.url);
const command = fileURLToPath(new URL('load/report/index.js', root));
const docs = fileURLToPath(new URL('docs/', root));

const { keptUp } = (await import(new URL('load/harness/row/verdict.js', root).href)) as {
  keptUp(offered: number, achieved: number, server: number, timed: object): { saturated: boolean; starved: boolean };
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gjallar-report-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const run = (...args: string[]) => spawnSync(process.execPath, [command, ...args], { encoding: 'utf8' });
const read = (...path: string[]) => readFileSync(join(...path), 'utf8');

/** A row as the benchmarks write it. */
const row = (peer: string, cpuPerMessage: number, more: object = {}) => ({
  date: '2026-01-02T03:04:05.000Z',
  benchmark: 'echo',
  cell: '30 bytes, 10,000/s',
  parameters: { size: 30, perSecond: 10_000 },
  quick: false,
  command: 'npm run bench -- echo',
  peer,
  result: { cpuPerMessage, average: cpuPerMessage / 10, saturated: false },
  valid: true,
  note: '',
  machine: { cores: 2, pinned: true, cpu: 'A CPU', memory: 2 ** 34, kernel: '6.0' },
  versions: { node: '20.0.0' },
  commit: 'abc1234',
  ...more,
});

/** The report of files of rows, and its table of echoes by peer, without the first cell and the empty ends. */
function report(...files: object[][]) {
  const names = files.map((rows, i) => {
    const name = join(folder, `${i}.jsonl`);
    writeFileSync(name, rows.map((each) => `${JSON.stringify(each)}\n`).join(''));
    return name;
  });
  const made = new Map(reportOf(names));
  const page = made.get('benchmarks.md')!;
  const [, table = ''] = page.split('\n## echo\n');
  const lines = table
    .split('\n## ')[0]!
    .split('\n')
    .filter((text) => text.startsWith('| '));
  const cells = lines.slice(2).map((text) =>
    text
      .split('|')
      .slice(2, -1)
      .map((cell) => cell.trim()),
  );
  const kept = made.get('benchmarks/results.jsonl')!;
  return { page, kept, table: Object.fromEntries(cells.map(([peer, ...rest]) => [peer, rest])) };
}

test('the report in docs/ and the README is what its results make, so nobody edited it', () => {
  const out = join(folder, 'docs');
  expect(run('--out', out)).toMatchObject({ status: 0, stderr: '' });
  const made = (at: string) => readdirSync(join(at, 'benchmarks')).sort();
  expect(made(docs)).toEqual(made(out));
  const files = ['benchmarks.md', 'guide/scaling.md', '../README.md', ...made(out).map((name) => `benchmarks/${name}`)];
  for (const file of files) expect({ file, text: read(docs, file) }).toEqual({ file, text: read(out, file) });
});

test('the recorded results name no folder of the machine', () => {
  expect(read(docs, 'benchmarks/results.jsonl').match(/"(?:\/(?:home|root|tmp|work|Users)\/)[^"]*"/g)).toBeNull();
});

test('runs of several files are gathered: median, extremes, and the ratio to ours', () => {
  const { table } = report(
    [row('socketio-ws', 30), row('gjallar', 10)],
    [row('socketio-ws', 20), row('gjallar', 12)],
    [row('socketio-ws', 40), row('gjallar', 5)],
  );
  expect(table).toEqual({
    'socketio-ws': ['30.0 (20.0–40.0)', '3×', '3.00 (2.00–4.00)', '3×', '3', ''],
    gjallar: ['10.0 (5.0–12.0)', '1×', '1.00 (0.50–1.20)', '1×', '3', ''],
  });
});

test('the ratio is that of the figures beside it', () => {
  const { table } = report(
    [row('socketio-ws', 20), row('gjallar', 10)],
    [row('gjallar', 40), row('socketio-ws', 40)],
    [row('socketio-ws', 90), row('gjallar', 30)],
  );
  expect(table['socketio-ws']!.slice(0, 2)).toEqual(['40.0 (20.0–90.0)', '1.3×']);
  expect(table.gjallar![0]).toBe('30.0 (10.0–40.0)');
});

test('each gain in the README is the quotient of the figures beside it', () => {
  const [, table = ''] = read(docs, '../README.md').split('npm run bench:report -->');
  const rows = table
    .split('<!-- to here')[0]!
    .split('\n')
    .filter((text) => /^\| \w/.test(text));
  const figure = (cell: string) => Number(/^[\d.,]+/.exec(cell)?.[0].replaceAll(',', ''));
  const shown = (value: number) => `${value >= 100 ? Math.round(value) : Number(value.toPrecision(2))}×`;
  const gains = rows.flatMap((text) => {
    const cells = text.split('|').map((cell) => cell.trim());
    const [about, stock, attached, ours, ...told] = cells.slice(1) as [string, string, string, string, ...string[]];
    return [stock, attached].map((theirs, i) => [about, told[i], shown(figure(theirs) / figure(ours))]);
  });
  const compared = gains.filter(([, told]) => told !== '–');
  expect(compared.length).toBeGreaterThan(10);
  expect(compared.map(([about, told]) => [about, told])).toEqual(
    compared.map(([about, , expected]) => [about, expected]),
  );
});

test('a run of changed files, a benchmark and a peer that are gone have no place in the results', () => {
  const { table, kept } = report([
    row('gjallar', 10),
    row('gorilla', 9),
    row('uws', 7, { commit: 'abc1234-dirty' }),
    row('gjallar', 7, { benchmark: 'gone' }),
    row('gjallar-gone', 7, { benchmark: 'cluster' }),
  ]);
  expect(Object.keys(table)).toEqual(['gjallar', 'gorilla']);
  expect(kept).not.toMatch(/dirty|gone/);
  expect(read(docs, 'benchmarks/results.jsonl')).not.toMatch(/-dirty|"er:/);
});

test('what a Socket.IO server or node:http does better is listed', () => {
  const of = (peer: string, cpuPerRequest: number) => row(peer, 0, { benchmark: 'express', result: { cpuPerRequest } });
  const { page } = report([
    row('socketio-ws', 10),
    row('gjallar', 20),
    of('express-node', 3),
    of('express-gjallar', 9),
  ]);
  expect(page).toContain('| echo: 30 bytes, 10,000/s | CPU µs/message | socketio-ws | 10 | 20 | 2× |');
  expect(page).toContain('| express: 30 bytes, 10,000/s | CPU µs/request | express-node | 3 | 9 | 3× |');
});

test('a row that is invalid in every run is struck out, and nothing is compared with it', () => {
  const invalid = { valid: false, note: 'INVALID: generator at 95%; other programs took 0.3 cores' };
  const { table } = report([row('socketio-ws', 30), row('gjallar', 10, invalid)]);
  expect(table).toEqual({
    'socketio-ws': ['30.0', '–', '3.00', '–', '1 †', ''],
    gjallar: ['~~10.0~~', '–', '~~1.00~~', '–', '0 †', 'INVALID: generator at 95%; other programs took 0.3 cores'],
  });
});

test('an invalid run beside valid ones is left out, which is said', () => {
  const invalid = row('gjallar', 1000, { valid: false, note: 'INVALID: 3 connections lost' });
  const { table } = report([row('gjallar', 10), invalid, row('gjallar', 11), row('uws', 1)]);
  expect(table.gjallar).toEqual([
    '10.5 (10.0–11.0)',
    '1×',
    '1.05 (1.00–1.10)',
    '1×',
    '2 †',
    '1 run left out: INVALID: 3 connections lost',
  ]);
});

test('remarks that differ in figures alone are told once, at their worst', () => {
  const took = (cores: string) => ({ note: `saturated; other programs took ${cores} cores` });
  const { table } = report([row('gjallar', 10, took('0.3')), row('gjallar', 10, took('1.2')), row('uws', 1)]);
  expect(table.gjallar!.at(-1)).toBe('saturated; other programs took 1.2 cores');
});

test('the cost of a saturated server is compared, its latency is not', () => {
  const saturated = { result: { cpuPerMessage: 30, average: 2000, saturated: true }, note: 'saturated' };
  const { table } = report([row('socketio-ws', 0, saturated), row('gjallar', 10)]);
  expect(table['socketio-ws']).toEqual(['30.0', '3×', '2,000.00', '–', '1 †', 'saturated']);
});

test('a server above 95% of its core is saturated, whatever the run said, and still listed where it answers sooner', () => {
  const full = (cpuPerMessage: number) => ({ result: { cpuPerMessage, average: 2, saturated: false, server: 99 } });
  const { page, table } = report([row('socketio-ws', 0, full(30)), row('gjallar', 40)]);
  expect(table['socketio-ws']).toEqual(['30.0', '0.75×', '2.00', '–', '99', '1 †', 'saturated']);
  expect(page).toContain('| echo: 30 bytes, 10,000/s | average ms | socketio-ws, saturated | 2 | 4 | 2× |');
});

test('a server whose latency grows through the window is saturated', () => {
  const timed = (firstHalf: number, secondHalf: number) => ({
    early: { count: 100, sum: 100 * firstHalf, mean: firstHalf },
    latency: { count: 200, sum: 100 * (firstHalf + secondHalf) },
  });
  expect(keptUp(100, 100, 0.8, timed(200, 400))).toEqual({ saturated: true, starved: false });
  expect(keptUp(100, 100, 0.8, timed(200, 210))).toEqual({ saturated: false, starved: false });
  expect(keptUp(100, 100, 0.8, timed(1, 3))).toEqual({ saturated: false, starved: false });
  expect(keptUp(100, 100, 0.96, timed(1, 1))).toEqual({ saturated: true, starved: false });
});

test('a peer that was not run, or failed, stands there with the reason', () => {
  const without = { result: undefined, valid: undefined };
  const { table } = report([
    row('gorilla', 0, { ...without, note: 'not run: no go on this machine' }),
    row('netty', 0, { ...without, failed: true, note: 'failed: it ended' }),
    row('gjallar', 10),
  ]);
  expect(table.gorilla).toEqual(['–', '–', '–', '–', '–', 'not run: no go on this machine']);
  expect(table.netty).toEqual(['–', '–', '–', '–', '–', 'failed: it ended']);
});

test('quick runs count only where there is no full one, and are called so', () => {
  const quick = { quick: true };
  const { table, kept } = report([row('gjallar', 99, quick), row('uws', 7, quick)], [row('gjallar', 10)]);
  expect(table.gjallar).toEqual(['10.0', '1×', '1.00', '1×', '1 †', '']);
  expect(table.uws).toEqual(['7.0', '0.7×', '0.70', '0.7×', '1 †', 'a quick run']);
  const lines = kept.trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { peer: string }).peer)).toEqual(['uws', 'gjallar']);
});

test('where several rows are ours, each peer is compared with the one of its kind', () => {
  const nodes = { benchmark: 'nodes', parameters: { subscribers: 1000, publishers: 10, perSecond: 40 } };
  const result = (cpuPerDelivery: number) => ({ ...nodes, result: { cpuPerDelivery, average: 1 } });
  const { page } = report([
    row('socketio-nodes-2', 0, result(8)),
    row('gjallar-nodes-1', 0, result(1)),
    row('gjallar-nodes-2', 0, result(2)),
  ]);
  expect(page).toContain('| 30 bytes, 10,000/s | socketio-nodes-2 | 8.00 | 4× |');
  expect(page).toContain('| gjallar-nodes-2 | 2.00 | 2× |');
  // The published figure of the same cell, beside ours.
  expect(page).toContain('| *workload 1: heimdallr, 2 nodes* | – | – | *129* | – | – |  |');
});

test('machine, versions, commit and commands are told, each once', () => {
  const { page } = report([row('gjallar', 10), row('uws', 10, { date: '2026-01-03T00:00:00.000Z' })]);
  expect(page).toContain('| date | 2026-01-02 to 2026-01-03 |');
  expect(page).toContain('| machine | 2 cores, A CPU, 16 GiB, Linux 6.0, server and generators on separate cores |');
  expect(page).toContain('| versions | node 20.0.0 |');
  expect(page).toContain('| commit, where the history has it | abc1234 |');
  expect(page).toContain('| commands | `npm run bench -- echo` |');
});

test('a file that the benchmarks did not write is refused in one line', () => {
  const bad = join(folder, 'bad.jsonl');
  writeFileSync(bad, '{"benchmark":"echo"}\n');
  const incomplete = `bench:report: ${bad}:1: a result without "cell"; was it written by an older version?\n`;
  expect(run(bad, '--out', folder)).toMatchObject({ status: 1, stdout: '', stderr: incomplete });
  writeFileSync(bad, 'one\n');
  const noJson = `bench:report: ${bad}:1: not JSON\n`;
  expect(run(bad, '--out', folder)).toMatchObject({ status: 1, stdout: '', stderr: noJson });
});
