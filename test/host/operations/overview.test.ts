import { describe, expect, test } from '@jest/globals';
import type { FigureName } from '../../../src/base/figure-table.js';
import type { Figure } from '../../../src/base/figures.js';
import { Problems } from '../../../src/base/problems.js';
import { HISTORY, MachineOverview } from '../../../src/host/operations/overview/machine-overview.js';
import {
  countsOf,
  type Overview,
  type OverviewFacts,
  overviewOf,
  statsOf,
  withoutNames,
} from '../../../src/host/operations/overview/overview.js';
import { MAX_RECENT, mergeEvents, RecentEvents } from '../../../src/host/operations/overview/recent-events.js';
import type { WorkerLists, WorkerReport } from '../../../src/host/operations/overview/worker-report.js';

const noLists: WorkerLists = {
  ...{ roomCount: 0, rooms: [], users: [], addresses: [], recent: [], servers: undefined },
};

/** A figure, with the values of its labels. */
const figure = (name: FigureName, value: number, ...labels: string[]): Figure => [name, labels, value];

/** The report of a worker without clients, with what the test sets. */
function reportOf(at: number, figures: readonly Figure[] = [], given: Partial<WorkerReport> = {}): WorkerReport {
  const health = { state: 'ready', problems: [], warnings: [] } as const;
  return { pid: 1000, at, health, figures, roundTrips: [], lists: noLists, ...given };
}

const facts: OverviewFacts = {
  ...{ version: '1.0.0', host: 'machine', cores: 2, memoryLimit: 1000, configuredWorkers: 2, isLeaving: false },
  ...{ isStarting: false, isOnPort: true, uptime: 10, recent: [], logWarning: undefined, problems: new Problems() },
};

const received = (value: number) => figure('gjallar_messages_received_total', value, 'socketio');

const byId = <Report extends WorkerReport | undefined>(...entries: [number, Report][]) => new Map(entries);
const room = { namespace: '/', room: 'hall', name: 'hall', members: 3, perSecond: 5 };

describe('the overview of a machine', () => {
  test('has the rates between two reports of each worker, and those of a new worker since its start', () => {
    const before = new Map([[1, countsOf(reportOf(10_000, [received(500), figure('process_cpu_seconds_total', 1)]))]]);
    const appended = (value: number, part: string) => figure('gjallar_history_seconds', value, 'append', part);
    const after = byId(
      [
        1,
        reportOf(12_000, [
          received(700),
          figure('process_cpu_seconds_total', 2),
          appended(10, '+Inf'),
          appended(0.03, 'sum'),
        ]),
      ],
      [2, reportOf(1000, [received(20), figure('gjallar_messages_received_total', 30, 'plain')])],
    );
    const { rates, workers, latency, measures } = overviewOf(after, before, facts);
    expect(rates).toMatchObject({ received: 150, cpu: 0.5, appends: 5 });
    expect(workers.map(({ rates: own }) => own!.received)).toEqual([100, 50]);
    expect([latency.history, measures.history]).toEqual([3, true]);
  });

  test('adds up what the workers have, and takes the largest of what each of them sees', () => {
    const delays = [
      figure('nodejs_eventloop_lag_p99_seconds', 0.02, '2'),
      figure('nodejs_eventloop_lag_max_seconds', 0.05, '2'),
    ];
    const lists = { ...noLists, rooms: [{ ...room, perSecond: 4 }] };
    const after = byId(
      [
        1,
        reportOf(1, [figure('gjallar_clients', 2, 'websocket')], {
          ...{ lists: { ...noLists, rooms: [room], servers: 5 }, roundTrips: [10, 20, 30] },
        }),
      ],
      [
        2,
        reportOf(1, [figure('gjallar_clients', 1, 'websocket'), figure('gjallar_clients', 1, 'polling'), ...delays], {
          lists,
        }),
      ],
    );
    const overview = overviewOf(after, new Map(), facts);
    expect(overview).toMatchObject({
      clients: 4,
      transports: { websocket: 3, polling: 1 },
      rooms: [{ ...room, members: 6 }],
      workersElsewhere: 3,
      latency: { roundTrip: { p50: 20, p95: 30 }, eventLoop: { p99: 20, max: 50 } },
      state: 'ready',
    });
    expect(statsOf(after)).toMatchObject({
      clients: 4,
      workers: [
        { id: 1, clients: 2 },
        { id: 2, clients: 2 },
      ],
    });
  });

  test('names a worker that does not answer, and what to do', () => {
    const reports = byId([1, reportOf(1)], [2, undefined]);
    const overview = overviewOf(reports, new Map(), facts);
    expect(overview.state).toBe('degraded');
    expect(overview.workers[1]).toEqual({ id: 2, doesRespond: false });
    expect(overview.problems).toEqual([
      {
        code: 'WORKER_SILENT',
        text: 'worker 2 does not respond',
        remedy: expect.stringContaining('10 s'),
        since: expect.any(Number),
      },
    ]);
    expect(statsOf(reports)).toMatchObject({ workers: [{ id: 1 }, { id: 2, doesRespond: false }] });
  });

  test('says that the application listens on no port', () => {
    const answers = byId([1, reportOf(1)], [2, reportOf(1)]);
    const { state, problems } = overviewOf(answers, new Map(), { ...facts, isOnPort: false });
    expect({ state, problems }).toMatchObject({ state: 'degraded', problems: [{ code: 'NOT_LISTENING' }] });
    expect(overviewOf(answers, new Map(), facts)).toMatchObject({ state: 'ready', problems: [] });
  });

  test('has no names for callers that are not the operator', () => {
    const recent = [{ level: 'info', message: 'm', code: 'C', count: 1, since: 1, at: 1, details: { user: 'Ada' } }];
    const users = [{ key: 'Ada', perSecond: 1 }];
    const lists = { ...noLists, rooms: [room], users, addresses: users, recent };
    const report = reportOf(1, [figure('gjallar_namespace_sockets', 1, '/Ada')], { lists });
    const named = overviewOf(byId([1, report]), new Map(), facts);
    expect(named.namespaces).toEqual({ '/Ada': 1 });
    const history = { intervalMs: 1, figures: {} } as Overview['history'];
    const text = JSON.stringify(withoutNames({ ...named, history }));
    expect(text).not.toMatch(/Ada|hall/);
    expect(text).toContain('"hasNames":false');
  });
});

test('the figures of five minutes are kept, and workers are asked in full by readers alone', async () => {
  let asked = 0;
  const inFull: boolean[] = [];
  const reports = async (_reader: unknown, hasLists = false) => {
    inFull.push(hasLists);
    asked++;
    return byId([1, reportOf(asked * 1000, [figure('gjallar_buffered_bytes', asked), received(7 * asked)])]);
  };
  const overview = new MachineOverview({ reports }, () => facts);
  for (let times = 0; times < HISTORY.length + 10; times++) await overview.keep();
  const { figures, history, measures } = await overview.read();
  expect(history.intervalMs * history.figures.buffered.length).toBe(5 * 60_000);
  expect(history.figures.buffered).toEqual(Array.from({ length: HISTORY.length }, (_, index) => index + 11));
  expect([new Set(history.figures.received), new Set(history.figures.roundTrip)]).toEqual([
    new Set([7]),
    new Set([null]),
  ]);
  expect([figures.buffered, measures.history]).toEqual([asked, false]);
  // What a reader has just got is kept without another question.
  await overview.keep();
  expect([asked, inFull.lastIndexOf(false)]).toEqual([HISTORY.length + 11, HISTORY.length + 9]);
  expect((await overview.read()).history.figures.buffered.at(-1)).toBe(figures.buffered);
});

describe('recent events', () => {
  test('that are alike are counted together, and the oldest ones are forgotten', () => {
    let time = 1000;
    const events = new RecentEvents(() => time);
    for (let i = 0; i < 1000; i++) events.add('info', 'rejected', () => ({ address: `10.0.0.${i}` }), 'FLOOD');
    expect(events.all).toMatchObject([{ count: 1000, details: { address: '10.0.0.0' } }]);
    time = 2000;
    events.add('info', 'rejected', () => ({ address: '10.0.0.1' }), 'FLOOD');
    expect(events.all).toMatchObject([{ since: 1000, at: 2000, count: 1001, details: { address: '10.0.0.1' } }]);
    for (let i = 0; i < 2 * MAX_RECENT; i++) events.add('error', `event ${i}`, () => ({}));
    expect(events.all).toHaveLength(MAX_RECENT);
    expect(events.all[0]!.message).toBe(`event ${2 * MAX_RECENT - 1}`);
  });

  test('of several workers are added up, with the details of the latest', () => {
    const [one, other] = [new RecentEvents(() => 1), new RecentEvents(() => 2)];
    one.add('warn', 'm', () => ({ worker: 1 }));
    other.add('warn', 'm', () => ({ worker: 2, error: new Error('broken') }));
    expect(mergeEvents([other.all, one.all])).toMatchObject([
      { count: 2, since: 1, at: 2, details: { worker: '2', error: 'broken' } },
    ]);
  });
});
