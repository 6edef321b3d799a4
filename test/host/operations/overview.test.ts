import { describe, expect, test } from '@jest/globals';
import { Problems } from '../../../src/base/problems.js';
import {
  type Overview,
  overviewOf,
  type PrimaryFacts,
  withoutNames,
} from '../../../src/host/operations/overview/overview.js';
import { MAX_RECENT, mergeEvents, RecentEvents } from '../../../src/host/operations/overview/recent-events.js';
import {
  HISTORY,
  MachineOverview,
  type WorkerCounts,
  type WorkerSample,
} from '../../../src/host/operations/overview/worker-sample.js';

const counts: WorkerCounts = {
  ...{ received: 0, sent: 0, broadcasts: 0, deliveries: 0, refused: 0, opened: 0 },
  ...{ cpu: 0, busy: 0, appends: 0, appendTime: 0 },
};

/** The sample of a worker without clients, with what the test sets. */
function sampleOf(id: number, at: number, given: Partial<WorkerSample> = {}): WorkerSample {
  return {
    ...{
      id,
      pid: 1000 + id,
      at,
      health: { state: 'ready', problems: [], warnings: [] },
      counts,
      clients: {},
      namespaces: {},
    },
    ...{ memory: 1, delay: undefined, load: 0, buffered: 0, roundTrips: [], roomCount: 0, rooms: [], users: [] },
    ...{ addresses: [], recent: [], servers: undefined, measures: { history: false, machines: false } },
    ...given,
  };
}

const facts: PrimaryFacts = {
  ...{ version: '1.0.0', host: 'machine', cores: 2, memoryLimit: 1000, configuredWorkers: 2, isLeaving: false },
  ...{ isOnPort: true, uptime: 10, recent: [], logWarning: undefined, problems: new Problems() },
};

const byId = <Sample extends WorkerSample | undefined>(...entries: [number, Sample][]) => new Map(entries);
const room = { namespace: '/', room: 'hall', name: 'hall', members: 3, perSecond: 5 };

describe('the overview of a machine', () => {
  test('has the rates between two samples of each worker, and those of a new worker since its start', () => {
    const before = byId([1, sampleOf(1, 10_000, { counts: { ...counts, received: 500, cpu: 1000 } })]);
    const after = byId(
      [1, sampleOf(1, 12_000, { counts: { ...counts, received: 700, cpu: 2000, appends: 10, appendTime: 30 } })],
      [2, sampleOf(2, 1000, { counts: { ...counts, received: 50 } })],
    );
    const { rates, workers, latency } = overviewOf(after, before, facts);
    expect(rates).toMatchObject({ received: 150, cpu: 0.5, appends: 5 });
    expect(workers.map(({ rates: own }) => own!.received)).toEqual([100, 50]);
    expect(latency.history).toBe(3);
  });

  test('adds up what the workers have, and takes the largest of what each of them sees', () => {
    const after = byId(
      [1, sampleOf(1, 1, { clients: { websocket: 2 }, rooms: [room], servers: 5, roundTrips: [10, 20, 30] })],
      [2, sampleOf(2, 1, { clients: { websocket: 1, polling: 1 }, rooms: [{ ...room, perSecond: 4 }] })],
    );
    const overview = overviewOf(after, new Map(), facts);
    expect(overview).toMatchObject({
      clients: 4,
      transports: { websocket: 3, polling: 1 },
      rooms: [{ ...room, members: 6 }],
      workersElsewhere: 3,
      latency: { roundTrip: { p50: 20, p95: 30 } },
      state: 'ready',
    });
  });

  test('names a worker that does not answer, and what to do', () => {
    const overview = overviewOf(byId([1, sampleOf(1, 1)], [2, undefined]), new Map(), facts);
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
  });

  test('says that the application listens on no port', () => {
    const answers = byId([1, sampleOf(1, 1)], [2, sampleOf(2, 1)]);
    const { state, problems } = overviewOf(answers, new Map(), { ...facts, isOnPort: false });
    expect({ state, problems }).toMatchObject({ state: 'degraded', problems: [{ code: 'NOT_LISTENING' }] });
    expect(overviewOf(answers, new Map(), facts)).toMatchObject({ state: 'ready', problems: [] });
  });

  test('has no names for callers that are not the operator', () => {
    const recent = [{ level: 'info', message: 'm', code: 'C', count: 1, since: 1, at: 1, details: { user: 'Ada' } }];
    const users = [{ key: 'Ada', perSecond: 1 }];
    const sample = sampleOf(1, 1, { rooms: [room], users, addresses: users, recent, namespaces: { '/Ada': 1 } });
    const history = { intervalMs: 1, figures: {} } as Overview['history'];
    const text = JSON.stringify(withoutNames({ ...overviewOf(byId([1, sample]), new Map(), facts), history }));
    expect(text).not.toMatch(/Ada|hall/);
    expect(text).toContain('"hasNames":false');
  });
});

test('the figures of five minutes are kept, and workers are asked in full by readers alone', async () => {
  let asked = 0;
  const briefly: boolean[] = [];
  const overview = new MachineOverview(
    async (isBrief) => {
      briefly.push(isBrief);
      asked++;
      return byId([1, sampleOf(1, asked * 1000, { buffered: asked, counts: { ...counts, received: 7 * asked } })]);
    },
    () => facts,
  );
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
  expect([asked, briefly.lastIndexOf(true)]).toEqual([HISTORY.length + 11, HISTORY.length + 9]);
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
