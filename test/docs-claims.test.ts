import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { allOptions, runOptions } from '../src/host/config/options.js';
import { libraryOptions } from './support/library-options.js';

/** Holds variables, options, limits, versions and times that pages name to the code and to deploy/. */

const root = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const section = (page: string, title: string) => read(page).split(`\n## ${title}\n`)[1]!.split('\n## ')[0]!;

test('the page of options has every option of the library with its default', () => {
  const rows = libraryOptions().map(
    ({ name, fallback, description }) => `| \`${name}\` | ${fallback} | ${description} |`,
  );
  expect(rows.length).toBeGreaterThan(25);
  const [, table = ''] = read('docs/reference/library.md').split('| option | default | meaning |\n|---|---|---|\n');
  expect(table.split('\n\n')[0]!.split('\n')).toEqual(rows);
});

interface Entry {
  default?: string | { default: string };
}

test('the page of the library has every export', async () => {
  const { exports: entries } = JSON.parse(read('package.json')) as { exports: Record<string, Entry> };
  const expected: Record<string, string[]> = {};
  for (const [name, { default: entry }] of Object.entries(entries)) {
    if (!entry || ['./register', './pub-sub'].includes(name)) continue;
    const file = typeof entry === 'string' ? entry : entry.default;
    // React is not installed here.
    if (name === './react') {
      expected['gjallar/react'] = [...read('public/gjallar-react.js').matchAll(/^export function (\w+)/gm)]
        .map(([, one]) => one!)
        .sort();
      continue;
    }
    expected[name.replace('.', 'gjallar')] = Object.keys(createRequire(import.meta.url)(join(root, file))).sort();
  }
  const named: Record<string, string[]> = {};
  let from = '';
  for (const line of section('docs/reference/library.md', 'Exports').split('\n')) {
    const [, entry = '', exported = ''] = line.split('|').map((cell) => cell.trim());
    from = /^`(gjallar.*)`$/.exec(entry)?.[1] ?? from;
    const names = [...exported.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
    if (names.length > 0 && from) named[from] = [...(named[from] ?? []), ...names];
  }
  for (const names of Object.values(named)) names.sort();
  expect(named).toEqual(expected);
});

test('the page of gjallar run names every variable that applies there', () => {
  const named = section('docs/run.md', 'Configuration').split('Options that')[0]!;
  const variables = [...named.matchAll(/`([A-Z_\d]+)`/g)].map(([, name]) => name);
  expect(variables.sort()).toEqual(
    Object.values(runOptions)
      .map(({ name }) => name)
      .sort(),
  );
});

test('the configuration names the file of every secret', () => {
  const files = [...section('docs/reference/configuration.md', 'Secrets in files').matchAll(/`([A-Z_]+)_FILE`/g)];
  const secrets = Object.values(allOptions).filter(({ isSecret }) => isSecret);
  expect(files.map(([, name]) => name).sort()).toEqual(secrets.map(({ name }) => name).sort());
});

test('the configuration names every variable of the library', () => {
  const sources = read('src/engine/uws/environment.ts');
  const variables = new Set([...sources.matchAll(/process\.env\.(\w+)/g)].map(([, name]) => name!));
  const named = section('docs/reference/configuration.md', 'Other variables');
  expect([...variables].filter((name) => !named.includes(`| \`${name}\` |`))).toEqual([]);
});

test('the table of limits has the defaults of the code', () => {
  const rows = [...read('docs/limits.md').matchAll(/^\| [^|]+ \| (`\w+`|–) \| ([^|]+) \| (`\w+`|–) \| ([^|]+) \|/gm)];
  const options = Object.values(allOptions);
  const library = libraryOptions();
  let compared = 0;
  for (const [, variable, fallback, option, inLibrary] of rows) {
    const spec = options.find(({ name }) => `\`${name}\`` === variable);
    if (spec) expect(`${variable} ${fallback!.replaceAll('`', '')}`).toBe(`${variable} ${spec.default}`);
    const known = library.find(({ name }) => `\`${name}\`` === option);
    if (!known) continue;
    const shown = ['0', 'false', 'no limits'].includes(known.fallback) ? 'off' : known.fallback;
    expect(`${option} ${inLibrary}`).toBe(`${option} ${shown}`);
    compared++;
  }
  expect(compared).toBe(6);
});

test('pages and deploy/ agree on versions and times', () => {
  const deployment = read('docs/guide/deployment.md');
  const unit = read('deploy/systemd/gjallar.service');
  for (const name of ['TimeoutStopSec', 'LimitNOFILE', 'KillMode']) {
    const line = new RegExp(`^${name}=.*$`, 'm');
    expect(line.exec(deployment)?.[0]).toBe(line.exec(unit)![0]);
  }
  const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(unit)!;
  expect(deployment).toContain(`--stop-timeout ${seconds}`);
  const [, apache] = /Apache httpd (2\.4\.\d+)/.exec(read('deploy/apache/gjallar.conf'))!;
  for (const page of ['docs/guide/proxies.md', 'docs/guide/deployment.md']) {
    expect([...new Set(read(page).match(/\b2\.4\.\d+/g))]).toEqual([apache]);
  }
});

test('the security policy supports the version of the package', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  expect(read('SECURITY.md')).toContain(`| ${version.split('.').slice(0, 2).join('.')} | yes |`);
});

test('every alert that a page names exists', () => {
  const rules = read('deploy/prometheus/alerts.yml');
  const named = ['docs/operations/alerts.md', 'docs/guarantees.md', 'docs/run.md'].flatMap(
    (page) => read(page).match(/\bGjallar[A-Z]\w+/g) ?? [],
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !rules.includes(`alert: ${name}`))).toEqual([]);
});
