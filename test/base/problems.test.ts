import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { Outage } from '../../src/base/outage.js';
import { Problems, problemCodes } from '../../src/base/problems.js';
import { Reported } from '../support/reports.js';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const codes = Object.keys(problemCodes);

describe('the codes of problems', () => {
  test('are all documented, in the order of the list, and no others are', () => {
    const [, section] = /\n## Problems\n(.*?)\n## /s.exec(read('docs/operations/alerts.md'))!;
    const rows = [...section!.matchAll(/^\| `([A-Z_]+)`( \(warning\))? \|/gm)];
    expect(rows.map(([, code]) => code)).toEqual(codes);
    const warnings = rows.flatMap(([, code, warning]) => (warning ? [code] : []));
    expect(warnings).toEqual(codes.filter((code) => problemCodes[code as keyof typeof problemCodes].isWarning));
  });

  test('are the only ones that alerts and the dashboard name', () => {
    for (const path of ['deploy/prometheus/alerts.yml', 'deploy/grafana/gjallar.json']) {
      const selectors = [...read(path).matchAll(/gjallar_problem\{([^}]*)\}/g)].map(([, selector]) => selector!);
      expect(selectors.length).toBeGreaterThan(0);
      const named = selectors.flatMap((selector) => [...selector.matchAll(/code(?:!=|!~|=~|=)\\?"([^"\\]+)/g)]);
      expect(named.flatMap(([, names]) => names!.split('|')).filter((name) => !codes.includes(name))).toEqual([]);
    }
    const matchers = [...read('deploy/prometheus/alertmanager.yml').matchAll(/'code =~? "?([^"']+)"?'/g)];
    expect(matchers.length).toBeGreaterThan(0);
    for (const [, pattern] of matchers) {
      expect({ pattern, found: codes.some((code) => new RegExp(`^(${pattern})$`).test(code)) }).toMatchObject({
        found: true,
      });
    }
  });
});

test('a problem that several raise is there until the last of them clears it, since the first has raised it', () => {
  const problems = new Problems();
  const reason = { code: 'OVERLOADED', text: 'the worker is overloaded' } as const;
  problems.raise('one', reason);
  const [{ since } = { since: 0 }] = problems.down;
  problems.raise('other', reason);
  expect(problems.down).toEqual([{ ...reason, remedy: problemCodes.OVERLOADED.remedy, since }]);
  problems.clear('one');
  expect(problems.down).toMatchObject([reason]);
  problems.clear('other');
  expect(problems.down).toEqual([]);
});

test('a warning leaves by itself, and is no problem meanwhile', () => {
  let now = 0;
  const problems = new Problems('', () => now);
  problems.raise('flood', { code: 'CLIENT_FLOODS', text: 'a client floods' }, 1000);
  expect([problems.down, problems.warnings]).toMatchObject([[], [{ code: 'CLIENT_FLOODS' }]]);
  now = 1000;
  expect(problems.warnings).toEqual([]);
});

test('an outage has a line for each reason, and one problem at a time', () => {
  const reports = new Reported();
  const outage = new Outage({ reports });
  const one = { code: 'REDIS_UNREACHABLE', text: 'Redis is unreachable' } as const;
  const other = { code: 'REDIS_UNAUTHORIZED', text: 'Redis requires a password' } as const;
  for (const reason of [one, one, other, one]) outage.begin(reason, { reason: 'as it says' });
  expect(reports.down).toEqual([one.text]);
  outage.end();
  outage.end();
  expect(reports.down).toEqual([]);
  expect(reports.lines).toEqual([
    ['error', { code: one.code, reason: 'as it says' }, one.text],
    ['error', { code: other.code, reason: 'as it says' }, other.text],
    ['info', { code: one.code }, `over: ${one.text}`],
  ]);
});
