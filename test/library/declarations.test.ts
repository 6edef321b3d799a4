import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import '../support/long.js';
import { InstalledPackage, root } from './support/installed.js';

const installed = new InstalledPackage();
afterAll(() => installed.remove());

const programs = {
  server: `import { createServer } from 'node:http';
    import { Server } from 'gjallar';
    const io = new Server(createServer(), { cors: { origin: 'https://example.com' }, maxBackpressure: 1e6 });
    io.on('connection', (socket) => socket.on('say', (text: string) => void io.to('hall').emit('said', text)));`,
  typed: `import { Server } from 'gjallar';
    interface FromClients { say(text: string, done: (ok: boolean) => void): void }
    interface ToClients { said(text: string): void }
    const io = new Server<FromClients, ToClients>(3000);
    io.on('connection', (socket) => socket.on('say', (text, done) => { socket.emit('said', text); done(true); }));`,
  connection: `import { Server, type Session } from 'gjallar';
    const io = new Server();
    io.on('connection', (socket) => {
      const { isOverLimit, bufferedAmount } = socket.conn as unknown as Session;
      if (isOverLimit || bufferedAmount > 1e6) socket.disconnect();
    });`,
  engine: `import { Server } from 'gjallar';
    const { counters, addresses, clientsCount } = new Server().engine;
    console.log(counters, addresses, clientsCount);`,
  parts: `import { App, createAdapter, Engine, parser } from 'gjallar';
    import { Server } from 'socket.io';
    const engine = new Engine({ maxHttpBufferSize: 1000 });
    engine.attach(App(), { path: '/socket.io' });
    new Server({ adapter: createAdapter(engine), parser: parser as never }).bind(engine);`,
  errors: `import { type ErrorCode, errorCodes, GjallarError } from 'gjallar';
    const code: ErrorCode = 'BAD_CONFIG';
    console.log(errorCodes[code], new GjallarError(code, 'why').code);`,
  emitter: `import * as emitter from 'gjallar/emitter';
    console.log(Object.keys(emitter));`,
  history: `import { durableRooms, RedisHistoryStore, SqliteHistoryStore } from 'gjallar/history';
    const store = await SqliteHistoryStore.open({ dataDir: './data' });
    console.log(durableRooms, RedisHistoryStore, await store.append('hall', [{ from: 'Ada', text: 'Hello', at: 0 }]));`,
  state: `import * as state from 'gjallar/state';
    console.log(Object.keys(state));`,
  presence: `import * as presence from 'gjallar/presence';
    import * as client from 'gjallar/client';
    console.log(presence, client);`,
};

/** The kind of the application's package, and its options of tsc. Without skipLibCheck, declarations are checked as well. */
const settings = [
  ['module', 'nodenext'],
  ['module', 'node16'],
  ['module', 'esnext', '--moduleResolution', 'bundler'],
  ['commonjs', 'nodenext'],
  ['commonjs', 'node20'],
] as const;

function compile(type: string, options: readonly string[], names = Object.keys(programs)): string[] {
  const folder = join(installed.folder, `${type}-${options.join('')}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type }));
  for (const name of names) {
    // Only ES modules may wait outside of a function.
    const text = programs[name as keyof typeof programs];
    writeFileSync(
      join(folder, `${name}.ts`),
      type === 'module'
        ? text
        : text.replace('await SqliteHistoryStore', 'void SqliteHistoryStore').replace(/, await store.*/, ', store);'),
    );
  }
  const args = ['--noEmit', '--strict', '--target', 'es2022', '--types', 'node', '--module', ...options];
  const files = names.map((name) => `${name}.ts`);
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, ...args, ...files], { cwd: folder, encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.includes('error TS'));
}

mkdirSync(join(installed.modules, '@types'), { recursive: true });
symlinkSync(join(root, 'node_modules', '@types', 'node'), join(installed.modules, '@types', 'node'));

test.each(settings)('ten small programs compile in a package of type %s with --module %s', (type, ...options) => {
  expect(compile(type, options)).toEqual([]);
});

test('module node16 of a CommonJS package, which the guide warns of, cannot import it', () => {
  expect(compile('commonjs', ['node16'], ['server'])).toEqual([expect.stringContaining('error TS1479')]);
});
