import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Watchdog } from '../../src/cluster/primary/forked-worker.js';
import { ALIVE_INTERVAL_MS } from '../../src/cluster/protocol.js';

let hung: number[];
let silent: [worker: number, isSilent: boolean][];
let vitals: Watchdog;

beforeEach(() => {
  jest.useFakeTimers();
  hung = [];
  silent = [];
  vitals = new Watchdog(
    4,
    (worker) => hung.push(worker),
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
  vitals.heard(1);
  pass(10);
  expect(hung).toEqual([]);
  pass(1);
  expect(hung).toEqual([1]);
  pass(60);
  expect(hung).toEqual([1]);
});

test('a worker that is never heard is hung after thirty, and two more for each worker', () => {
  vitals.began(1);
  pass(38);
  expect(hung).toEqual([]);
  pass(1);
  expect(hung).toEqual([1]);
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
