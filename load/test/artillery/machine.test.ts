import { expect, test } from '@jest/globals';

const folder = new URL('../../artillery/command/', import.meta.url);
const { readMachine } = (await import(new URL('../../harness/process/machine.js', import.meta.url).href)) as {
  readMachine(text?: string): { used: number; stolen: number };
};
const { measureBaseline, allowanceOf } = (await import(new URL('baseline.js', folder).href)) as {
  measureBaseline(ms: number): Promise<{ p50: number; p99: number }>;
  allowanceOf(baseline: { p99: number }): number;
};

test('stolen time is told from what programs used, and waiting is neither', () => {
  // user nice system idle iowait irq softirq steal, in hundredths of a second
  const text = 'cpu  100 10 50 9999 888 5 15 30 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n';
  expect(readMachine(text)).toEqual({ used: 1_800_000, stolen: 300_000 });
});

test('a system without /proc/stat tells nothing', () => {
  expect(readMachine('').used).toBeNaN();
});

test('the baseline has the times of round trips on this machine', async () => {
  const { p50, p99 } = await measureBaseline(100);
  expect(p50).toBeGreaterThan(0);
  expect(p99).toBeGreaterThanOrEqual(p50);
});

test('a slow machine allows as much more as it is slower, and a fast one allows nothing less', () => {
  expect(allowanceOf({ p99: 25 })).toBe(2.5);
  expect(allowanceOf({ p99: 0.2 })).toBe(1);
});
