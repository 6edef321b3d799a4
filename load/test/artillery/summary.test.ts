import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import * as summary from '../../artillery/command/summary.js';

type Run = Parameters<typeof summary.summarize>[0];
type Result = ReturnType<typeof summary.summarize>;
type Machine = Record<'cores' | 'used' | 'stolen', number>;

/** What artillery printed and reported in a real run of seconds: against gjallar (met, busy), and against a bad server. */
function recorded(name: string): Run {
  return JSON.parse(readFileSync(new URL(`recorded/${name}.json`, import.meta.url), 'utf8')) as Run;
}

const cpu = { artillery: 0.28, server: 0.13 };

describe('the summary of a run', () => {
  test('that met its thresholds', () => {
    const result = summary.summarize(recorded('met'), cpu);
    expect(result).toMatchObject({ verdict: 'ok', reasons: [], errors: {} });
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
    expect(result.verdict).toBe('failed');
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
    expect(result).toMatchObject({ verdict: 'inconclusive', reasons: ['artillery was the bottleneck'] });
    expect(summary.describe(result).slice(-4)).toEqual([
      'MISSED         echo.30000.count * 1000 / duration.echo.30000 > 28500',
      'MISSED         echo.30000.p99 < 250',
      'disturbed      artillery was the bottleneck',
      'INCONCLUSIVE   2 of 4 thresholds missed',
    ]);
  });

  test('that came to no end', () => {
    const run = { name: 'chat', code: null, end: 'took longer than 120 s', printed: '' };
    const result = summary.summarize(run, cpu);
    expect(result).toMatchObject({ verdict: 'failed', users: { created: 0, completed: 0, failed: 0 } });
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
  expect(summary.summarize({ ...recorded('met'), ...change }, cpu).verdict).toBe('failed');
});

describe('on a machine that other programs use', () => {
  const free = { cores: 2, used: 0.5, stolen: 0 };
  const used = { cores: 2, used: 1.2, stolen: 0.1 };
  const stolen = { cores: 2, used: 0.5, stolen: 0.9 };
  const late = { code: 1, printed: 'ok: vusers.failed == 0\nfail: echo.897.p99 < 20\n' };

  test.each<[string, Partial<Run>, Machine, Result['verdict']]>([
    ['a missed time fails if nothing was in the way', late, free, 'failed'],
    ['a missed time is inconclusive if others used it', late, used, 'inconclusive'],
    ['a missed time is inconclusive if the host took it', late, stolen, 'inconclusive'],
    ['a run without an end is inconclusive', { code: null, printed: '' }, used, 'inconclusive'],
    ['a crash of artillery fails', { code: 11, printed: '' }, used, 'failed'],
    ['met thresholds are met', {}, stolen, 'ok'],
  ])('%s', (_what, change, machine, verdict) => {
    expect(summary.summarize({ ...recorded('met'), ...change }, cpu, machine).verdict).toBe(verdict);
  });

  test('lost messages fail the run, and replies that are late do not', () => {
    expect(summary.summarize(recorded('missed'), cpu, used).verdict).toBe('failed');
    const run = recorded('missed') as Run & { report: { counters: Record<string, number> } };
    for (const key of Object.keys(run.report.counters)) if (key.startsWith('errors.')) delete run.report.counters[key];
    run.report.counters['errors.NO_REPLY'] = 20;
    expect(summary.summarize(run, cpu, used).verdict).toBe('inconclusive');
    expect(summary.summarize(run, cpu, free).verdict).toBe('failed');
  });

  test('the summary shows the reason', () => {
    const result = summary.summarize({ ...recorded('met'), ...late }, cpu, used);
    expect(summary.describe(result).slice(-3)).toEqual([
      'MISSED         echo.897.p99 < 20',
      'disturbed      other programs took 0.8 of 2 cores',
      'INCONCLUSIVE   1 of 2 thresholds missed',
    ]);
  });
});
