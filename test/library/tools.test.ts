// Installs tools from the registry, so it is slow, and needs the network unless npm has the packages cached.
import { type ExecFileException, execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { cleanEnvironment } from '../support/server.js';
import '../support/long.js';
import { temporaryFolder } from '../support/folder.js';
import { root } from './support/installed.js';

const execute = promisify(execFile);
const folder = temporaryFolder();
const inModules = (path: string) => join(folder, 'node_modules', path);

/** Runs a program to its end, on the Node.js of the test. */
async function run(args: readonly string[], { cwd = folder } = {}) {
  const ended = await execute(process.execPath, args, { cwd, env: cleanEnvironment(), timeout: 170_000 }).catch(
    (error: ExecFileException) => error,
  );
  return { code: 'code' in ended ? ended.code : 0, text: `${ended.stdout}${ended.stderr}` };
}

beforeAll(async () => {
  const { stdout } = await execute('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], {
    cwd: root,
  });
  writeFileSync(join(folder, 'package.json'), '{ "name": "application", "private": true }');
  const tools = ['jest@30', 'ts-jest@29', '@swc/jest@0.2', '@swc/core@1', 'typescript@5', 'esbuild@0', 'webpack@5'];
  const packages = [join(folder, stdout.trim()), 'socket.io@4', 'socket.io-client@4', '@types/node@20'];
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
  await execute('npm', ['install', ...flags, ...packages, ...tools], { cwd: folder });
}, 600_000);

const page = readFileSync(join(root, 'docs/guide/testing.md'), 'utf8');
const [, ofPage = ''] = /```js\n(.*?)```/s.exec(page) ?? [];
const recovers = `
import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import { Server } from 'gjallar';
import { SqliteHistoryStore } from 'gjallar/history';
import { createPresence } from 'gjallar/presence';
import { createStateRoom } from 'gjallar/state';
import { Rooms } from 'gjallar/client';
import { Emitter } from 'gjallar/emitter';
import { io as connect } from 'socket.io-client';

test('recovers a session', async () => {
  const io = new Server(0, { connectionStateRecovery: {} });
  await once(io['httpServer'], 'listening');
  const client = connect('http://localhost:' + io['httpServer'].address().port, { transports: ['websocket'], reconnectionDelay: 10 });
  await new Promise((resolve) => client.once('connect', resolve));
  const marked = new Promise((resolve) => client.once('mark', resolve));
  io.emit('mark');
  await marked;
  client.io.engine.close();
  await new Promise((resolve) => client.once('connect', resolve));
  expect(client.recovered).toBe(true);
  client.disconnect();
  await io.close();
  for (const part of [SqliteHistoryStore, createPresence, createStateRoom, Rooms, Emitter]) expect(part).toBeDefined();
});
`;

/** What a test in TypeScript says besides. */
const typed = (code: string) =>
  code
    .replaceAll('new Promise(', 'new Promise<void>(')
    .replaceAll(/\w+(?:\['httpServer'\])?\.address\(\)/g, '($& as { port: number })');

describe('the pages’ test, and one of recovery and all parts', () => {
  beforeAll(() => {
    mkdirSync(join(folder, 'swc'));
    mkdirSync(join(folder, 'ts'));
    for (const [name, code] of Object.entries({ page: ofPage, recovers })) {
      writeFileSync(join(folder, 'swc', `${name}.test.js`), code);
      writeFileSync(join(folder, 'ts', `${name}.test.ts`), typed(code));
    }
    writeFileSync(join(folder, 'swc/jest.config.json'), '{ "transform": { "^.+\\\\.[jt]s$": "@swc/jest" } }');
    writeFileSync(join(folder, 'ts/jest.config.json'), '{ "preset": "ts-jest" }');
  });

  test.each(['swc', 'ts'])(
    'pass with %s-jest’s defaults',
    async (tool) => {
      const { code, text } = await run([inModules('jest/bin/jest.js'), '--config', `${tool}/jest.config.json`]);
      expect({ code, text }).toEqual({ code: 0, text: expect.stringMatching(/^Tests: +2 passed, 2 total$/m) });
    },
    180_000,
  );
});

describe('a bundled application', () => {
  const application = `
    import { once } from 'node:events';
    import { createServer } from 'node:http';
    import { Server } from 'gjallar';
    import * as history from 'gjallar/history';
    import * as state from 'gjallar/state';
    import { io as connect } from 'socket.io-client';
    const http = createServer();
    const io = new Server(http, { connectionStateRecovery: {} });
    io.on('connection', (socket) => socket.on('double', (number, reply) => reply(2 * number)));
    http.listen(0, async () => {
      const client = connect('http://localhost:' + http.address().port, { reconnectionDelay: 10 });
      await new Promise((resolve) => client.once('connect', resolve));
      const answer = await client.emitWithAck('double', 21);
      const marked = new Promise((resolve) => client.once('mark', resolve));
      io.emit('mark');
      await marked;
      client.io.engine.close();
      await new Promise((resolve) => client.once('connect', resolve));
      console.log('served', answer, client.recovered, history.createDurableRooms.name, state.createStateRoom.name);
      client.disconnect();
      await io.close();
    });`;
  // Outside of the project: what is not in the bundle is not there.
  const alone = temporaryFolder();
  beforeAll(() => writeFileSync(join(folder, 'application.mjs'), application));

  const banner = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';
  const esbuild = (...args: string[]) => [
    inModules('esbuild/bin/esbuild'),
    ...['application.mjs', '--bundle', '--platform=node', '--log-level=warning', ...args],
  ];
  const webpack = `
    const options = { mode: 'development', target: 'node', entry: './application.mjs' };
    const output = { path: ${JSON.stringify(alone)}, filename: 'webpack.cjs' };
    require('webpack')({ ...options, output }, (error, stats) => {
      if (error ?? stats.hasErrors()) throw error ?? new Error(stats.toString());
    });`;

  test.each([
    ['esbuild', 'esbuild.cjs', esbuild(`--outfile=${join(alone, 'esbuild.cjs')}`)],
    [
      'esbuild, as an ES module',
      'esbuild.mjs',
      esbuild('--format=esm', `--banner:js=${banner}`, `--outfile=${join(alone, 'esbuild.mjs')}`),
    ],
    ['webpack', 'webpack.cjs', ['-e', webpack]],
  ])(
    'of %s serves, also with recovery',
    async (_name, file, args) => {
      expect(await run(args)).toEqual({ code: 0, text: '' });
      const { code, text } = await run([file], { cwd: alone });
      expect({ code, text }).toEqual({ code: 0, text: expect.stringContaining('served 42 true createDurableRooms') });
    },
    180_000,
  );

  const main = inModules('gjallar/dist/main.js');

  test('is rejected by gjallar run if gjallar is in the bundle', async () => {
    expect(await run(esbuild('--outfile=whole.cjs'))).toEqual({ code: 0, text: '' });
    const { code, text } = await run([main, 'run', 'whole.cjs', '--workers', '2']);
    expect({ code, text }).toEqual({ code: 1, text: expect.stringContaining('a copy of gjallar of its own') });
  }, 180_000);

  test('runs with gjallar run if its packages are not in the bundle', async () => {
    expect(await run(esbuild('--packages=external', '--outfile=thin.cjs'))).toEqual({ code: 0, text: '' });
    const child = execute(process.execPath, [main, 'run', 'thin.cjs'], { cwd: folder, env: cleanEnvironment() });
    const served = new Promise<string>((resolve) => {
      child.child.stdout!.on('data', (text) => String(text).includes('served') && resolve(String(text)));
    });
    expect(await served).toContain('served 42 true');
    child.child.kill();
    await child.catch(() => {});
  }, 180_000);
});
