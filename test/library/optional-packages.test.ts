import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Socket } from 'socket.io-client';
import { runApp, stopAll } from '../run/support/application.js';
import { connect, disconnectAll, nextEvent } from '../support/clients.js';
import { cleanEnvironment } from '../support/server.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));
const { dependencies, devDependencies, peerDependencies, peerDependenciesMeta } = read('package.json');

/** A folder with gjallar, its dependencies and socket.io: what `npm install gjallar` brings, and nothing else. */
const folder = mkdtempSync(join(tmpdir(), 'gjallar-alone-'));
const modules = join(folder, 'node_modules');
const main = join(modules, 'gjallar', 'dist', 'main.js');

beforeAll(() => {
  for (const name of [...Object.keys(dependencies), 'socket.io']) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  for (const part of ['package.json', 'dist', 'public']) {
    cpSync(join(root, part), join(modules, 'gjallar', part), { recursive: true });
  }
});

afterEach(async () => {
  disconnectAll();
  await stopAll();
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a program to its end. */
function run(args: string[], env: Record<string, string> = {}): Promise<{ code: number; out: string; error: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      args,
      { cwd: folder, env: { ...cleanEnvironment(), ...env }, timeout: 60_000 },
      (failure, out, error) => resolve({ code: Number(failure?.code ?? 0), out, error }),
    );
  });
}

test('a clone installs the optional packages in the versions that users of the library may install', () => {
  const { 'socket.io': _required, ...optional } = peerDependencies;
  const isForTraces = (name: string) => name.startsWith('@opentelemetry/');
  // Few need traces, and their packages take 46 MB. The image goes without them.
  // `gjallar compare` runs where an application is developed, and not in the image.
  const isForDevelopment = (name: string) => name === 'socket.io-client';
  const installed = Object.fromEntries(
    Object.entries(optional).filter(([name]) => !isForTraces(name) && !isForDevelopment(name)),
  );
  expect(read('deploy/service/package.json').dependencies).toEqual(installed);
  expect(Object.keys(devDependencies)).toEqual(
    expect.arrayContaining(Object.keys(optional).filter((name) => isForTraces(name) || isForDevelopment(name))),
  );
  expect(Object.keys(peerDependenciesMeta).sort()).toEqual(Object.keys(optional).sort());
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
    'the history in SQLite needs a package that is not installed. Run: npm install libsql',
  ]);
  expect((await fetch(`${app.admin}/readyz`)).status).toBe(200);
  expect(await (await fetch(`${app.admin}/api/overview`)).json()).toMatchObject({ ok: true, state: 'ready' });
  const metrics = await fetch(`${app.admin}/metrics`);
  expect({ status: metrics.status, text: await metrics.text() }).toEqual({
    status: 501,
    text: expect.stringContaining('Run: npm install prom-client'),
  });
  await app.logged(({ level, msg }) => level === 'warn' && msg!.endsWith('run: npm install prom-client'));
});

test.each([
  ['register', ['--import', 'gjallar/register', '--eval', 'console.log("done")'], {}],
  ['--help', [main, '--help'], {}],
])('%s needs none of them', async (_name, args, env) => {
  expect(await run(args, env)).toMatchObject({ code: 0, error: '' });
});

test.each([
  ['the chat service', [], {}, 'the chat service', 'jose prom-client libsql'],
  ['with Redis', [], { REDIS_URL: 'redis://127.0.0.1:1' }, 'the chat service', 'jose prom-client'],
  [
    'with an archive',
    [],
    { ARCHIVE_URL: 'postgres://127.0.0.1:1/a', HISTORY_STORE: 'sqlite' },
    'the chat service',
    'jose prom-client libsql knex pg',
  ],
])('%s says in one line what to install', async (_name, args, env, user, packages) => {
  expect(await run([main, ...args], { PORT: '0', ...(env as Record<string, string>) })).toEqual({
    code: 1,
    out: '',
    error: `gjallar: ${user} needs packages that are not installed. Run: npm install ${packages}\n`,
  });
});

test('so does gjallar compare', async () => {
  writeFileSync(join(folder, 'server.js'), '');
  expect(await run([main, 'compare', 'server.js'])).toEqual({
    code: 2,
    out: '',
    error: 'gjallar: gjallar compare needs a package that is not installed. Run: npm install socket.io-client\n',
  });
});

test('so do the tools for backups', async () => {
  expect(await run([main, 'backup', 'file.db'])).toEqual({
    code: 1,
    out: '',
    error: 'gjallar: the history in SQLite needs a package that is not installed. Run: npm install libsql\n',
  });
});
