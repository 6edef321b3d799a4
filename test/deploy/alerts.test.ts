import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const docs = read('docs/operations.md');
const { groups } = parse(read('deploy/prometheus/alerts.yml')) as {
  groups: { rules: { alert: string; expr: string }[] }[];
};
const rules = groups.flatMap((group) => group.rules);

test('the documentation lists the alerts, in their order', () => {
  expect([...docs.matchAll(/^\| `(Gjallar\w+)` \|/gm)].map(([, name]) => name)).toEqual(
    rules.map(({ alert }) => alert),
  );
});

test.each(rules)('$alert is about metrics that the server has, and is fired by a test', ({ alert, expr }) => {
  const names = expr.match(/\b(gjallar|nodejs|process)_\w+/g) ?? [];
  expect(names.length + Number(alert === 'GjallarMachineDown')).toBeGreaterThan(0);
  for (const name of names) expect(docs).toContain(`| \`${name.replace(/_bucket$/, '')}\` |`);
  const { tests } = parse(read('deploy/prometheus/alerts.test.yml')) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
  };
  const fired = tests.flatMap((one) => one.alert_rule_test).filter((one) => one.exp_alerts.length > 0);
  expect(fired.map(({ alertname }) => alertname)).toContain(alert);
});
