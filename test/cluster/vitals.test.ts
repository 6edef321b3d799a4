import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { cpuTicksOf, Watchdog } from '../../src/cluster/primary/forked-worker.js';
import { ALIVE_INTERVAL_MS } from '../../src/cluster/protocol.js';

let hung: number[];
let failures: string[];
/** The CPU of every worker. */
let ticks: number;
let silent: [worker: number, isSilent: boolean][];
let vitals: Watchdog;

beforeEach(() => {
  jest.useFakeTimers();
  hung = [];
  failures = [];
  ticks = 0;
  silent = [];
  vitals = new Watchdog(
    { startTimeout: 60 * ALIVE_INTERVAL_MS, cpuOf: () => ticks },
    (worker, failure) => {
      hung.push(worker);
      failures.push(failure);
    },
    (...report) => silent.push(report),
  );
});

afterEach(() => {
  vitals.close();
  jest.useRealTimers();
});

const pass = (seconds: number) => jest.advanceTimersByTime(seconds * ALIVE_INTERVAL_MS);

test('a worker that was heard and falls silent is hung after ten turns, and named once', () => {
  vitals.began(1);
  vitals.started(1);
  vitals.heard(1);
  pass(10);
  expect(hung).toEqual([]);
  pass(1);
  expect(hung).toEqual([1]);
  pass(60);
  expect(hung).toEqual([1]);
});

test('a worker that starts is hung after thirty turns without a response and CPU', () => {
  vitals.began(1);
  pass(20);
  ticks = 1;
  pass(30);
  expect(hung).toEqual([]);
  pass(1);
  expect(hung).toEqual([1]);
});

test('a start that uses CPU may take as long as the option says, from each response on', () => {
  const busy = (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      ticks++;
      pass(1);
    }
  };
  vitals.began(1);
  busy(50);
  vitals.heard(1);
  busy(59);
  expect(hung).toEqual([]);
  busy(1);
  expect(hung).toEqual([1]);
  expect(failures).toEqual([expect.stringMatching(/^did not respond for 60 s .* START_TIMEOUT/)]);
});

test('once it has started, CPU is no sign of life', () => {
  vitals.began(1);
  vitals.started(1);
  for (let second = 0; second < 11; second++) {
    ticks++;
    pass(1);
  }
  expect(hung).toEqual([1]);
});

test('without the CPU of a process, only the option bounds its start', () => {
  ticks = undefined!;
  vitals.began(1);
  pass(59);
  expect(hung).toEqual([]);
  pass(1);
  expect(hung).toEqual([1]);
});

test('the system tells the CPU of a process', () => {
  const before = cpuTicksOf(process.pid)!;
  while (process.cpuUsage().user + process.cpuUsage().system < (before + 5) * 10_000);
  expect(cpuTicksOf(process.pid)).toBeGreaterThan(before);
  expect(cpuTicksOf(2 ** 30)).toBeUndefined();
});

test('a silence of more than three turns is reported, and so is its end', () => {
  for (const worker of [1, 2, 3]) vitals.heard(worker);
  pass(3);
  vitals.heard(1);
  expect(silent).toEqual([]);
  pass(3);
  vitals.heard(2);
  vitals.forget(3);
  const report = (isSilent: boolean) => [2, 3].map((worker) => [worker, isSilent]);
  expect(silent).toEqual([...report(true), ...report(false)]);
});

test('signs of life start the count anew, and who has gone is not counted', () => {
  vitals.began(1);
  vitals.began(2);
  for (let turn = 0; turn < 50; turn++) {
    vitals.heard(1);
    pass(1);
    if (turn === 5) vitals.forget(2);
  }
  expect(hung).toEqual([]);
});
