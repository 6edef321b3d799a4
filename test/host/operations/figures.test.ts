import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { figureKinds } from '../../../src/base/figure-table.js';
import { type Figure, Figures, Histogram, Totals } from '../../../src/base/figures.js';
import { Problems } from '../../../src/base/problems.js';
import { MachineFigures } from '../../../src/host/operations/metrics/machine-figures.js';
import { textOf } from '../../../src/host/operations/metrics/text.js';
import type { WorkerReport } from '../../../src/host/operations/overview/worker-report.js';
import { startServiceHere } from '../../support/service-here.js';

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

/** What promtool says of a text: nothing if it is right. */
function checked(text: string): string {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
  return `${stdout}${stderr}${status === 0 ? '' : ` (status ${status})`}`;
}

const reportOf = (...figures: Figure[]): WorkerReport => ({
  ...{ pid: 1, at: 1, health: { state: 'ready', problems: [], warnings: [] }, figures, roundTrips: [] },
});

/** A machine whose workers answer what the test sets. */
function machineOf(answers: Map<number, WorkerReport | undefined>) {
  const facts = {
    ...{
      configuredWorkers: 2,
      isStarting: false,
      isLeaving: false,
      isOnPort: true,
      logWarning: undefined,
      problems: new Problems(),
    },
    ...{ version: '1.0.0', deaths: 0, reloads: { finished: 1, aborted: 0 } },
  };
  const machine = new MachineFigures(
    async () => new Map(answers),
    () => facts,
  );
  /** The lines of some metrics, without their comments. */
  const lines = async (...names: string[]) =>
    (await machine.metrics()).split('\n').filter((line) => names.some((name) => line.startsWith(name)));
  return { machine, lines };
}

test('the documentation has the table of figures, and nothing else', () => {
  const documented = readFileSync(new URL('../../../docs/operations/metrics.md', import.meta.url), 'utf8');
  const rows = [...documented.matchAll(/^\| `((?:gjallar|process|nodejs)_\w+)` \| (\w+) \| (.*) \|$/gm)];
  expect(rows.map(([, ...row]) => row)).toEqual(
    Object.entries(figureKinds).map(([name, { type, help }]) => [name, type, help]),
  );
  expect(rows.length).toBeLessThanOrEqual(70);
});

(hasPromtool ? test : test.skip)('promtool accepts the metrics of a server, and any text as a label', async () => {
  const server = await startServiceHere();
  try {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    expect(text).toMatch(/^gjallar_history_seconds_count\{call="read"\} 0$/m);
    expect(checked(text)).toBe('');
  } finally {
    await server.stop();
  }
  // One of each, with what must be escaped.
  const all = Object.entries(figureKinds).map(([name, { labels, type }]): Figure => {
    const values = labels.map(() => 'a "b" \\ \n c');
    return [name as Figure[0], type === 'histogram' ? [...values, '+Inf'] : values, 1e21];
  });
  expect(checked(textOf(new Totals().add(all, 1).all))).toBe('');
});

test('a histogram is its figures', () => {
  const seconds = new Histogram([0.1, 1], ['append', 'read']);
  for (const value of [0.05, 0.1, 0.5, 2]) seconds.observe('append', value);
  const worker = new Figures();
  worker.add(() => ({ gjallar_history_seconds: seconds.read() }));
  expect(textOf(worker.read())).toBe(`# HELP gjallar_history_seconds ${figureKinds.gjallar_history_seconds.help}
# TYPE gjallar_history_seconds histogram
gjallar_history_seconds_bucket{call="append",le="0.1"} 2
gjallar_history_seconds_bucket{call="append",le="1"} 3
gjallar_history_seconds_bucket{call="append",le="+Inf"} 4
gjallar_history_seconds_count{call="append"} 4
gjallar_history_seconds_sum{call="append"} 2.65
gjallar_history_seconds_bucket{call="read",le="0.1"} 0
gjallar_history_seconds_bucket{call="read",le="1"} 0
gjallar_history_seconds_bucket{call="read",le="+Inf"} 0
gjallar_history_seconds_count{call="read"} 0
gjallar_history_seconds_sum{call="read"} 0
`);
});

test('the parts of a worker are put together, and what one has counted stays when it is gone', () => {
  const worker = new Figures();
  const add = (sent: number, level: number, isUp: number) =>
    worker.add(() => ({
      gjallar_messages_sent_total: sent,
      gjallar_connections_open: sent,
      gjallar_load_level: level,
      gjallar_bus_up: [['redis', isUp]],
    }));
  add(1, 2, 1);
  const remove = add(10, 1, 0);
  expect(worker.read()).toEqual([
    ['gjallar_messages_sent_total', [], 11],
    ['gjallar_connections_open', [], 11],
    ['gjallar_load_level', [], 2],
    ['gjallar_bus_up', ['redis'], 0],
  ]);
  remove();
  remove();
  expect(worker.read()).toEqual([
    ['gjallar_messages_sent_total', [], 11],
    ['gjallar_connections_open', [], 1],
    ['gjallar_load_level', [], 2],
    ['gjallar_bus_up', ['redis'], 1],
  ]);
});

test('sums of counts never fall: neither while a worker is silent, nor when it has ended', async () => {
  const report = (sent: number) =>
    reportOf(
      ['gjallar_messages_sent_total', [], sent],
      ['gjallar_connections_open', [], sent],
      ['process_open_fds', [], sent],
      ['process_cpu_seconds_total', [], sent],
    );
  const answers = new Map<number, WorkerReport | undefined>([
    [1, report(1)],
    [2, report(10)],
  ]);
  const { lines } = machineOf(answers);
  const read = () => lines('gjallar_messages_sent', 'gjallar_connections_open', 'process_', 'gjallar_worker_up');
  expect(await read()).toEqual([
    'gjallar_worker_up{worker="1"} 1',
    'gjallar_worker_up{worker="2"} 1',
    'process_cpu_seconds_total{worker="1"} 1',
    'process_cpu_seconds_total{worker="2"} 10',
    'process_open_fds{worker="1"} 1',
    'process_open_fds{worker="2"} 10',
    'gjallar_messages_sent_total 11',
    'gjallar_connections_open 11',
  ]);
  answers.set(2, undefined);
  expect(await read()).toEqual([
    'gjallar_worker_up{worker="1"} 1',
    'gjallar_worker_up{worker="2"} 0',
    'process_cpu_seconds_total{worker="1"} 1',
    'process_cpu_seconds_total{worker="2"} 10',
    'process_open_fds{worker="1"} 1',
    'gjallar_messages_sent_total 11',
    'gjallar_connections_open 1',
  ]);
  expect(await lines('gjallar_problem')).toEqual([
    'gjallar_problem{code="WORKER_SILENT",text="worker 2 does not respond"} 1',
  ]);
  answers.delete(2);
  answers.set(3, report(100));
  expect(await read()).toEqual([
    'gjallar_worker_up{worker="1"} 1',
    'gjallar_worker_up{worker="3"} 1',
    'process_cpu_seconds_total{worker="1"} 1',
    'process_cpu_seconds_total{worker="3"} 100',
    'process_open_fds{worker="1"} 1',
    'process_open_fds{worker="3"} 100',
    'gjallar_messages_sent_total 111',
    'gjallar_connections_open 101',
  ]);
});

test('the last figures of a worker that ends count', async () => {
  const report = (sent: number) => reportOf(['gjallar_messages_sent_total', [], sent]);
  const answers = new Map([
    [1, report(1)],
    [2, report(10)],
  ]);
  const { machine, lines } = machineOf(answers);
  expect(await lines('gjallar_messages_sent')).toEqual(['gjallar_messages_sent_total 11']);
  machine.ended(2, [...report(15).figures, ['of_another_build', [], 1] as never]);
  // It may be asked until it has ended.
  answers.set(2, undefined as never);
  expect(await lines('gjallar_messages_sent')).toEqual(['gjallar_messages_sent_total 16']);
  answers.delete(2);
  expect(await lines('gjallar_messages_sent')).toEqual(['gjallar_messages_sent_total 16']);
});

test('a worker of another build may report other figures', async () => {
  const figures = [
    ['gjallar_new_total', [], 1],
    ['gjallar_load_level', [], 1],
  ] as unknown as Figure[];
  const { lines } = machineOf(new Map([[1, reportOf(...figures)]]));
  expect(await lines('gjallar_new', 'gjallar_load')).toEqual(['gjallar_load_level 1']);
});

test('each reader gets the longest delay since it has asked last', async () => {
  const answers = new Map<number, WorkerReport>();
  const { machine, lines } = machineOf(answers);
  const answer = (seconds: number) => answers.set(1, reportOf(['nodejs_eventloop_lag_max_seconds', [], seconds]));
  const seen = async () => (await machine.reports('overview')).get(1)!.figures.map(([, , value]) => value);
  answer(3);
  await machine.reports();
  answer(1);
  expect(await seen()).toEqual([3]);
  expect(await seen()).toEqual([1]);
  expect(await lines('nodejs_eventloop_lag_max')).toEqual(['nodejs_eventloop_lag_max_seconds{worker="1"} 3']);
  expect(await lines('nodejs_eventloop_lag_max')).toEqual(['nodejs_eventloop_lag_max_seconds{worker="1"} 1']);
});
