import { readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type RunningServer, startServer } from './support/server.js';

/** Holds docs/threat-model.md to what there is. */

const root = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const model = read('docs/threat-model.md');
const evidence = read('docs/internals/threat-tests.md');
/** The cells of the attacks of a page, by the page's sections. */
const attacksOf = (page: string) =>
  page
    .split(/^## /m)
    .filter((section) => section.includes('| attack |'))
    .flatMap((section) =>
      [...section.matchAll(/^\| (?!attack \|)(.+?) \| (.+) \|$/gm)].map(([row, attack, cell]) => ({
        section: section.split('\n')[0]!,
        attack: attack!,
        cell: cell!,
        row,
      })),
    );
const rows = attacksOf(evidence);

/** The title of a test as the document names it: with `…` for what the test fills in, and without it at either end. */
const readable = (title: string) => title.replace(/%\w|[$]\{.*?\}/g, '…').replace(/^…[ :,]+|[ :,]+…$/g, '');

/** The readable titles of the tests and groups of tests in a file. */
function titlesIn(file: string): string[] {
  // The title follows `test(`, `test.concurrent(`, `describe(`, functions of files that call one of them, or, behind the
  // values of `each`, `)(`.
  const calls = read(file).matchAll(/(?:\b(?:test|test\.concurrent|describe|onRedis|inScene)|\))\(\s*(['"`])(.+?)\1,/g);
  return [...calls].map(([, , title]) => readable(title!));
}

test('every attack has tests, and every test an attack', () => {
  const named = ({ section, attack }: { section: string; attack: string }) => `${section}: ${attack}`;
  expect(rows.map(named)).toEqual(attacksOf(model).map(named));
});

test('every test is there', () => {
  expect(rows.length).toBeGreaterThan(30);
  for (const { cell } of rows) {
    const named = cell.split(/; (?=`test\/)/).map((one) => /^`(test\/\S+\.ts)` › (.+)$/.exec(one)?.slice(1));
    for (const found of named) {
      expect({ cell, found }).toMatchObject({ found: [expect.any(String), expect.any(String)] });
      const [file, name] = found!;
      expect({ file, name, isThere: titlesIn(file!).includes(name!) }).toEqual({ file, name, isThere: true });
    }
  }
});

test('no test is named by its template', () => {
  expect(rows.filter(({ row }) => /%\w/.test(row))).toEqual([]);
});

test('every option that guards something is named', () => {
  const guards = [
    'RATE_LIMIT',
    'MAX_CONNECTIONS_PER_IP',
    'TRUST_PROXY',
    'MAX_BACKPRESSURE',
    'SLOW_POLICY',
    'CORS_ORIGIN',
  ];
  const keys = [
    'API_KEY',
    'JWT_SECRET',
    'JWKS_URL',
    'ADMIN_USER',
    'ADMIN_PASSWORD',
    'TLS_KEY',
    'TLS_CERT',
    'MAX_PAYLOAD',
  ];
  expect([...guards, ...keys].filter((name) => !model.includes(`\`${name}\``))).toEqual([]);
});

describe('on the machine', () => {
  let server: RunningServer;
  let parent: string;

  beforeAll(async () => {
    parent = await mkdtemp(join(tmpdir(), 'gjallar-model-'));
    server = await startServer({ WORKERS: '1', DATA_DIR: join(parent, 'data') });
  });
  afterAll(async () => {
    await server.stop();
    await rm(parent, { recursive: true });
  });

  const othersMay = (path: string) => statSync(path).mode & 0o077;

  test("the folder of the workers' sockets is their user's alone", async () => {
    const environment = readFileSync(`/proc/${await server.pidOfWorker(1)}/environ`, 'utf8');
    const folder = /GJALLAR_MESH_DIRECTORY=([^\0]+)/.exec(environment)![1]!;
    expect(othersMay(folder)).toBe(0);
  });

  test("the folder of the messages is their user's alone", () => {
    expect(othersMay(join(parent, 'data'))).toBe(0);
  });
});

test.each(['.npmrc', 'load/artillery/.npmrc'])('no package runs a script as it is installed: %s', (path) => {
  expect(read(path)).toMatch(/^ignore-scripts=true$/m);
});

test('every package has its checksum', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { integrity?: string; link?: boolean }>;
  };
  // What is not in node_modules is this repository's own: the project itself and its workspace.
  const installed = Object.entries(packages).filter(([path]) => path.includes('node_modules/'));
  const without = installed.filter(([, { integrity, link }]) => !link && !integrity);
  expect(without.map(([path]) => path)).toEqual([]);
});
