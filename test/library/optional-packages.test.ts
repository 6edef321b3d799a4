import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import type { Socket } from 'socket.io-client';
import { isWithin, supportedVersions } from '../../src/base/optional-packages.js';
import { runApp, stopAll } from '../host/run/support/application.js';
import { connect, disconnectAll, nextEvent } from '../support/clients.js';
import { atEnd } from '../support/ends.js';
import { InstalledPackage, root } from './support/installed.js';

const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));
const { peerDependencies, peerDependenciesMeta } = read('package.json');

const alone = new InstalledPackage();
const { folder, main } = alone;
const run = alone.run.bind(alone);

afterEach(async () => {
  disconnectAll();
  await stopAll();
});

test('npm asks applications for socket.io alone, and other package managers for any version of the rest', () => {
  expect(Object.keys(peerDependencies)).toEqual(['socket.io']);
  const isOptional = Object.fromEntries(Object.keys(supportedVersions).map((name) => [name, { optional: true }]));
  // The hooks take the React of their application.
  expect(peerDependenciesMeta).toEqual({ ...isOptional, react: { optional: true } });
});

test('a clone installs the optional packages in versions that work', () => {
  // `gjallar compare` runs where an application is developed, and not in the image.
  const { 'gjallar-compare': _compare, ...service } = supportedVersions;
  const { dependencies } = read('deploy/service/package.json') as { dependencies: Record<string, string> };
  expect(Object.keys(dependencies)).toEqual(Object.keys(service));
  for (const [name, range] of Object.entries(service)) {
    expect({ name, works: isWithin(dependencies[name]!.slice(1), range) }).toEqual({ name, works: true });
    const { version } = read(`node_modules/${name}/package.json`);
    expect({ name, version, works: isWithin(version, range) }).toEqual({ name, version, works: true });
  }
});

test.each([
  ['0.5.29', true],
  ['0.5.30', true],
  ['0.5.28', false],
  ['0.6.0', false],
  ['1.0.0', false],
])('libsql %s: %s', (version, works) => {
  expect(isWithin(version, supportedVersions.libsql)).toBe(works);
});

test('without the optional packages, an application runs on the library', async () => {
  const file = join(folder, 'app.mjs');
  writeFileSync(
    file,
    `import { createServer } from 'node:http';
    import { Server } from 'gjallar';
    import { Presence } from 'gjallar/presence';
    import { RedisHistoryStore, SqliteHistoryStore } from 'gjallar/history';
    if (!Presence || !RedisHistoryStore) throw new Error('not exported');
    const http = createServer();
    const io = new Server(http);
    io.on('connection', (socket) => {
      socket.on('open', (reply) => SqliteHistoryStore.open({ dataDir: 'data' }).catch(({ code, message }) => reply(code, message)));
    });
    http.listen(0, '127.0.0.1');`,
  );
  const app = await runApp(file, { main, env: { WORKERS: '1' } });
  const socket = connect(app.url) as unknown as Socket;
  await nextEvent(socket, 'connect');
  const reply = new Promise((resolve) => socket.emit('open', (...values: unknown[]) => resolve(values)));
  expect(await reply).toEqual([
    'BAD_CONFIG',
    'the history in SQLite needs a package that is not installed. Run: npm install libsql@0.5',
  ]);
  expect((await fetch(`${app.admin}/readyz`)).status).toBe(200);
  expect(await (await fetch(`${app.admin}/api/overview`)).json()).toMatchObject({ ok: true, state: 'ready' });
  expect(await (await fetch(`${app.admin}/metrics`)).text()).toContain(
    '\ngjallar_namespace_sockets{namespace="/"} 1\n',
  );
});

test.each([
  ['register', ['--import', 'gjallar/register', '--eval', 'console.log("done")'], {}],
  ['--help', [main, '--help'], {}],
])('%s needs none of them', async (_name, args, env) => {
  expect(await run(args, env)).toMatchObject({ code: 0, error: '' });
});

test.each([
  ['the chat service', [], {}, 'the chat service', 'jose@6 libsql@0.5'],
  ['with Redis', [], { REDIS_URL: 'redis://127.0.0.1:1' }, 'the chat service', 'jose@6'],
  [
    'with an archive',
    [],
    { ARCHIVE_URL: 'postgres://127.0.0.1:1/a' },
    'the chat service',
    'jose@6 libsql@0.5 knex@3 pg@8',
  ],
])('%s says in one line what to install', async (_name, args, env, user, packages) => {
  expect(await run([main, ...args], { PORT: '0', ...(env as Record<string, string>) })).toEqual({
    code: 1,
    out: '',
    error: `gjallar: ${user} needs ${packages.includes(' ') ? 'packages that are' : 'a package that is'} not installed. Run: npm install ${packages}\n`,
  });
});

test('so does gjallar compare', async () => {
  writeFileSync(join(folder, 'server.js'), '');
  expect(await run([main, 'compare', 'server.js'])).toEqual({
    code: 2,
    out: '',
    error: 'gjallar: gjallar compare needs a package that is not installed. Run: npm install gjallar-compare@0.2\n',
  });
});

test('so do the tools for backups', async () => {
  expect(await run([main, 'backup', 'file.db'])).toEqual({
    code: 1,
    out: '',
    error: 'gjallar: the history in SQLite needs a package that is not installed. Run: npm install libsql@0.5\n',
  });
});

test('gjallar doctor names all of them, and fails', async () => {
  const env = { PORT: '0', HOST: '127.0.0.1', WORKERS: '1', ARCHIVE_URL: 'postgres://127.0.0.1:1/a' };
  const { code, out } = await run([main, 'doctor'], env);
  expect({ code, failed: out.match(/^fail.*$/gm) }).toEqual({
    code: 1,
    failed: [
      'fail  the chat service needs packages that are not installed. Run: npm install jose@6 libsql@0.5 knex@3 pg@8. ' +
        'For an application of your own, run gjallar doctor run',
    ],
  });
  // An application may need none of them.
  expect((await run([main, 'doctor', 'run'], { WORKERS: '1' })).code).toBe(0);
});

test('a package in a version that does not work is named with its version, its folder and the command', async () => {
  const installed = join(alone.modules, 'libsql');
  mkdirSync(installed);
  writeFileSync(join(installed, 'package.json'), '{ "name": "libsql", "version": "0.4.7" }');
  atEnd(async () => {
    // The other tests have none of these packages.
    rmSync(installed, { recursive: true });
  });
  expect(await run([main], { PORT: '0' })).toEqual({
    code: 1,
    out: '',
    error:
      'gjallar: the chat service needs a package that is not installed, and libsql 0.5.29 or a newer 0.5.x, ' +
      `not 0.4.7 in ${installed}. Run: npm install jose@6 libsql@0.5\n`,
  });
});
