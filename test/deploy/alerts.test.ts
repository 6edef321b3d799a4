import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const docs = read('docs/operations/alerts.md');
const metrics = read('docs/operations/metrics.md');
const { groups } = parse(read('deploy/prometheus/alerts.yml')) as {
  groups: { rules: { alert: string; expr: string }[] }[];
};
const rules = groups.flatMap((group) => group.rules);

test('the documentation lists the alerts, in their order', () => {
  expect([...docs.matchAll(/^\| `(Gjallar\w+)` \|/gm)].map(([, name]) => name)).toEqual(
    rules.map(({ alert }) => alert),
  );
});

const { tests } = parse(read('deploy/prometheus/alerts.test.yml')) as {
  tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
};
const ruleTests = tests.flatMap((one) => one.alert_rule_test);

test('each test of the rules names an alert that exists', () => {
  const names = new Set(rules.map(({ alert }) => alert));
  expect(ruleTests.map(({ alertname }) => alertname).filter((name) => !names.has(name))).toEqual([]);
});

test.each(rules)('$alert is about metrics that the server has, and is fired by a test', ({ alert, expr }) => {
  const names = expr.match(/\b(gjallar|nodejs|process)_\w+/g) ?? [];
  expect(names.length + Number(alert === 'GjallarMachineDown')).toBeGreaterThan(0);
  for (const name of names) expect(metrics).toContain(`| \`${name.replace(/_bucket$/, '')}\` |`);
  const fired = ruleTests.filter((one) => one.exp_alerts.length > 0);
  expect(fired.map(({ alertname }) => alertname)).toContain(alert);
});

test('the example for Alertmanager silences alerts that exist, because of alerts that exist', () => {
  const {
    inhibit_rules: inhibitions,
    receivers,
    route,
  } = parse(read('deploy/prometheus/alertmanager.yml')) as {
    inhibit_rules: { source_matchers: string[]; target_matchers: string[]; equal: string[] }[];
    receivers: { name: string }[];
    route: { receiver: string };
  };
  expect(receivers.map(({ name }) => name)).toContain(route.receiver);
  const names = rules.map(({ alert }) => alert);
  for (const { source_matchers: sources, target_matchers: targets, equal } of inhibitions) {
    expect(equal).toEqual(['instance']);
    const named = [...sources, ...targets].flatMap((matcher) => {
      const [, all] = /alertname (?:=|!=|=~) "?([^"]+)"?$/.exec(matcher) ?? [];
      if (!all || all === 'Gjallar.*') return [];
      const [, several] = /^Gjallar\((.+)\)$/.exec(all) ?? [];
      return several ? several.split('|').map((name) => `Gjallar${name}`) : [all];
    });
    expect(named.length).toBeGreaterThan(0);
    expect(names).toEqual(expect.arrayContaining(named));
  }
});

test('the runbook names log lines that exist, and tools that the image has', () => {
  expect(docs).not.toContain('redis-cli');
  const lines = {
    'src/host/runtime/backplane.ts': ['the backplane is up'],
    'src/cluster/hub/hub-health.ts': ['frames of other workers were lost: messages may be missing'],
    'src/host/runtime/machines/hub.ts': ['the relay to other machines is up'],
    'src/host/runtime/engine-events.ts': ['new connections are accepted again', 'the worker is no longer overloaded'],
    'src/host/operations/reports.ts': ['a client was disconnected', 'a client was rejected'],
  };
  for (const [file, texts] of Object.entries(lines)) {
    for (const text of texts) {
      expect(docs.replaceAll('\n', ' ')).toContain(text);
      expect(read(file)).toContain(text);
    }
  }
});

test('systemd leaves a stop the time that it may take', () => {
  const times = ['deploy/systemd/gjallar.service', 'docs/guide/deployment.md'].map((path) =>
    Number(/^TimeoutStopSec=(\d+)$/m.exec(read(path))![1]),
  );
  const [, drain] = /`DRAIN_TIMEOUT` \| (\d+)s/.exec(read('docs/reference/configuration.md'))!;
  for (const time of times) expect(time).toBeGreaterThan(Number(drain) + 10);
});
