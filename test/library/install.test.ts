// Installs the packed package from the registry, so it is slow, and needs the network unless npm has the packages cached.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isWithin, type OptionalPackage, supportedVersions } from '../../src/base/optional-packages.js';
import { runApp, stopAll } from '../host/run/support/application.js';
import { cleanEnvironment } from '../support/server.js';
import '../support/long.js';
import { temporaryFolder } from '../support/folder.js';
import { root } from './support/installed.js';

const execute = promisify(execFile);
const place = temporaryFolder();
let tarball = '';

beforeAll(async () => {
  const { stdout } = await execute('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', place], {
    cwd: root,
  });
  tarball = join(place, stdout.trim());
}, 60_000);

afterAll(async () => {
  await stopAll();
});

/** What applications have for themselves. Together, these are the versions that once failed, in two applications. */
const applications = [
  {
    name: 'older',
    own: {
      knex: '2.5.1',
      mysql2: '3.12.0',
      pg: '8.11.6',
      jose: '4.15.9',
      'pino-pretty': '11.3.0',
      '@opentelemetry/api': '1.4.1',
      '@opentelemetry/sdk-metrics': '1.30.1',
      '@opentelemetry/exporter-trace-otlp-http': '0.57.2',
    },
  },
  {
    name: 'newer',
    own: {
      knex: '3.1.0',
      mysql2: '3.12.0',
      pg: '8.11.6',
      jose: '5.10.0',
      'pino-pretty': '11.3.0',
      '@opentelemetry/api': '1.9.0',
      '@opentelemetry/exporter-metrics-otlp-http': '0.200.0',
    },
  },
];

const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];

describe.each(applications)('an application with packages of its own, $name', ({ name, own }) => {
  const folder = join(place, name);
  const main = join(folder, 'node_modules', 'gjallar', 'dist', 'main.js');
  const install = (...packages: string[]) => execute('npm', ['install', ...flags, ...packages], { cwd: folder });
  const versionOf = (each: string): string =>
    JSON.parse(readFileSync(join(folder, 'node_modules', each, 'package.json'), 'utf8')).version;

  /** Of the application, before gjallar was installed. */
  let manifest: { dependencies: object };

  beforeAll(async () => {
    mkdirSync(folder);
    await install('--package-lock-only', ...Object.entries(own).map(([each, version]) => `${each}@${version}`));
    manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    await install('socket.io@4', tarball);
  }, 300_000);

  test('npm installs gjallar beside them, and leaves them as they are', async () => {
    // As npm itself notes them, so that npm may choose newer ones.
    const dependencies = Object.fromEntries(Object.entries(own).map(([each, version]) => [each, `^${version}`]));
    expect(manifest.dependencies).toEqual(dependencies);
    expect(Object.fromEntries(Object.keys(own).map((each) => [each, versionOf(each)]))).toEqual(own);
    const { stdout } = await execute('npm', ['ls', '--json'], { cwd: folder });
    expect(JSON.parse(stdout)).not.toHaveProperty('problems');
  }, 60_000);

  test('it runs with gjallar run, with metrics', async () => {
    const file = join(folder, 'app.mjs');
    writeFileSync(
      file,
      `import { createServer } from 'node:http';
      import { Server } from 'socket.io';
      const http = createServer();
      new Server(http);
      http.listen(0, '127.0.0.1');`,
    );
    const app = await runApp(file, { main });
    const metrics = await fetch(`${app.admin}/metrics`);
    expect({ status: metrics.status, text: await metrics.text() }).toEqual({
      status: 200,
      text: expect.stringMatching(/^gjallar_namespace_sockets\{namespace="\/"\} 0$/m),
    });
  }, 60_000);

  test('the chat service names each version that does not work, and the command', async () => {
    const unfit = (['jose', 'knex', 'pg'] as const).filter((each) => !isFit(each, own[each]));
    expect(unfit).toEqual(['jose', 'knex', 'pg']);
    const env = { ...cleanEnvironment(), PORT: '0', ARCHIVE_URL: 'postgres://127.0.0.1:1/a' };
    const { code, stderr } = await execute(process.execPath, [main], { cwd: folder, env }).catch((error) => error);
    expect({ code, lines: stderr.trim().split('\n').length }).toEqual({ code: 1, lines: 1 });
    for (const each of unfit) {
      expect(stderr).toContain(`, not ${own[each]} in ${join(folder, 'node_modules', each)}`);
    }
    expect(stderr).toContain('Run: npm install jose@6 libsql@0.5 knex@3 pg@8\n');
  }, 60_000);
});

const isFit = (name: OptionalPackage, version: string) => isWithin(version, supportedVersions[name]);
