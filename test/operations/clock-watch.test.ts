import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ClockWatch } from '../../src/operations/clock-watch.js';
import { Warnings } from '../../src/operations/warnings.js';

const JUMPED = 'the clock jumped: times of messages and of tokens may be wrong';

let time: number;
let ahead: number;
/** How long reading the clock takes, in ms. */
let pause: number;
let lines: unknown[][];
let warnings: Warnings;
let watch: ClockWatch;

beforeEach(() => {
  time = 0;
  ahead = 1e12;
  pause = 0;
  lines = [];
  warnings = new Warnings(() => time);
  const line =
    (level: string) =>
    (...values: unknown[]) =>
      lines.push([level, ...values]);
  const clocks = {
    monotonic: () => time,
    wall: () => {
      time += pause;
      return time + ahead;
    },
  };
  watch = new ClockWatch({ warnings, log: { error: line('error'), warn: line('warn'), info: line('info') } }, clocks);
});
afterEach(() => watch.close());

/** Lets time pass, with a check in each second. */
function pass(seconds: number): void {
  for (let second = 0; second < seconds; second++) {
    time += 1000;
    watch.check();
  }
}

test('a clock that runs evenly, or is corrected slowly, has not jumped', () => {
  for (let second = 0; second < 600; second++) {
    ahead += 20;
    pass(1);
  }
  expect([lines, warnings.list]).toEqual([[], []]);
});

test.each([3_600_000, -5000])('a jump by %p ms has one line, and is a warning for five minutes', (byMs) => {
  pass(5);
  ahead += byMs;
  pass(299);
  expect([lines, warnings.list]).toEqual([[['warn', { byMs }, JUMPED]], [JUMPED]]);
  expect(watch.metrics()[0]!.read()).toBe(1);
  pass(10);
  expect([lines.slice(1), warnings.list]).toEqual([[], []]);
});

test('a process that was stopped while it read the clocks reports no jump', () => {
  pause = 5000;
  pass(3);
  pause = 0;
  pass(3);
  expect(lines).toEqual([]);
});
