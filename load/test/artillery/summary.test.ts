import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

interface Run {
  name: string;
  code: number | null;
  end?: string;
  printed: string;
  report?: object;
}

interface Result {
  ok: boolean;
  isArtilleryBusy: boolean;
  users: { created: number; completed: number; failed: number };
  errors: Record<string, number>;
}

const module = new URL('../../artillery/command/summary.js', import.meta.url);
const summary = (await import(module.href)) as {
  summarize(run: Run, cpu: { artillery: number; server: number }): Result;
  describe(result: Result): string[];
};

/** What artillery printed and reported in a real run of seconds: against gjallar (met, busy), and against a bad server. */
function recorded(name: string): Run {
  return JSON.parse(readFileSync(new URL(`recorded/${name}.json`, import.meta.url), 'utf8')) as Run;
}

const cpu = { artillery: 0.28, server: 0.13 };

describe('the summary of a run', () => {
  test('that met its thresholds', () => {
    const result = summary.summarize(recorded('met'), cpu);
    expect(result).toMatchObject({ ok: true, isArtilleryBusy: false, errors: {} });
    expect(summary.describe(result)).toEqual([
      'virtual users  100: 100 completed, 0 failed',
      'ms         count  per second  p50  p95   p99   max',
      'echo.897   2,700         897  0.4  6.9  28.5  45.3',
      'echo.1000  3,000       1,000  0.3  4.7  43.4  70.0',
      'errors         none',
      'CPU            artillery 0.28 cores, its thread busy 33%; server 0.13 cores',
      'ok             6 thresholds met',
    ]);
  });

  test('that missed some, on a machine that does not tell CPU times', () => {
    const result = summary.summarize(recorded('missed'), { artillery: Number.NaN, server: Number.NaN });
    expect(result.ok).toBe(false);
    expect(summary.describe(result)).toEqual([
      'virtual users  20: 0 completed, 20 failed',
      'ms                count  per second  p50   p95   p99   max',
      'join.ack             20          12  1.0  24.3  24.3  50.1',
      'leave.ack            17           4  1.0   7.0   7.0  20.6',
      'message.ack          60          12  3.0  19.1  27.4  27.8',
      'message.delivery    478          94  2.8  19.1  27.9  28.4',
      'errors         MESSAGE_REPEATED 65, MESSAGE_MISSING 3',
      'CPU            artillery –, its thread busy 6%; server –',
      'MISSED         vusers.completed == vusers.created',
      'MISSED         vusers.failed == 0',
      'FAILED         2 of 4 thresholds missed',
    ]);
  });

  test('in which artillery could not keep up', () => {
    const result = summary.summarize(recorded('busy'), cpu);
    expect(result).toMatchObject({ ok: false, isArtilleryBusy: true });
    expect(summary.describe(result).slice(-4)).toEqual([
      'MISSED         echo.30000.count * 1000 / duration.echo.30000 > 28500',
      'MISSED         echo.30000.p99 < 250',
      'artillery was the bottleneck: its times and rates are its own, not the server’s; npm run bench loads harder',
      'FAILED         2 of 4 thresholds missed',
    ]);
  });

  test('that came to no end', () => {
    const run = { name: 'chat', code: null, end: 'took longer than 120 s', printed: '' };
    const result = summary.summarize(run, cpu);
    expect(result).toMatchObject({ ok: false, users: { created: 0, completed: 0, failed: 0 } });
    expect(summary.describe(result)).toEqual([
      'virtual users  0: 0 completed, 0 failed',
      'errors         none',
      'CPU            artillery 0.28 cores, its thread busy 0%; server 0.13 cores',
      'FAILED         took longer than 120 s',
    ]);
  });
});

test.each<[string, Partial<Run>]>([
  ['artillery has checked nothing', { printed: '\nChecks:\n' }],
  ['artillery fails with all thresholds met', { code: 11 }],
  ['one threshold is missed, and artillery does not say so', { printed: 'ok: a == 1\nfail: b == 1\n' }],
])('a run is not ok when %s', (_what, change) => {
  expect(summary.summarize({ ...recorded('met'), ...change }, cpu).ok).toBe(false);
});
