import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type RunningServer, startServer } from './support/server.js';

/** Holds docs/security.md to what there is. */

const root = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const model = read('docs/security.md');

test('every section of attacks names files of tests that exist', () => {
  const sections = model.split(/^## /m).filter((section) => section.includes('| attack |'));
  expect(sections.length).toBeGreaterThan(5);
  for (const section of sections) {
    const named = [...section.matchAll(/`(test\/\S+\.ts)`/g)].map(([, file]) => file!);
    expect({ section, named }).not.toMatchObject({ named: [] });
    expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  }
});

test('every option that guards something is named', () => {
  const guards = ['RATE_LIMIT', 'MAX_CONNECTIONS_PER_IP', 'TRUST_PROXY', 'MAX_BACKPRESSURE', 'CORS_ORIGIN'];
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
