import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { untilGone } from '../../support/process.js';
import { cleanEnvironment, type LogLine } from '../../support/server.js';
import { pathOf } from './support/application.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const main = join(root, 'dist/main.js');

let folder: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gjallar-npm-'));
});

afterEach(() => {
  if (child?.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** Runs npm in a folder with these scripts, until a server has started. Resolves with the pid of its primary. */
async function run(scripts: object, ...args: string[]): Promise<number> {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'application', private: true, scripts }));
  const env = { ...cleanEnvironment(), WORKERS: '1', PORT: '0', DRAIN_TIMEOUT: '0', DATA_DIR: folder, TMPDIR: folder };
  // A group of its own, so that a failed test leaves nothing running.
  child = spawn('npm', args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  for await (const line of createInterface(child.stdout!)) {
    if (!line.startsWith('{"level"')) continue;
    const { msg, pid, process: kind } = JSON.parse(line) as LogLine & { pid: number };
    if (kind === 'primary' && /listens on/.test(msg ?? '')) return pid;
  }
  throw new Error('npm has ended');
}

async function stop(pid: number): Promise<void> {
  child!.stdout!.resume();
  const ended = once(child!, 'exit');
  child!.kill('SIGTERM');
  await ended;
  await untilGone(pid);
}

test('SIGTERM to npm start stops the server', async () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } };
  // The build is part of it: with `ignore-scripts` of .npmrc, npm runs no `prestart`.
  expect(scripts.start).toBe('(node deploy/is-built.js || npm run build) && node dist/main.js');
  await stop(await run({ start: `true && node "${main}"` }, 'start'));
  await stop(await run({ start: `node "${main}"` }, 'start'));
});

test('npm start builds again after a source has changed, has come or has gone, and after npm install', () => {
  const [before, built, after] = [100, 200, 300];
  const files = [
    'src/part/one.ts',
    'compare/src/two.ts',
    'bundle.js',
    'package.json',
    'node_modules/.package-lock.json',
  ];
  const main = 'dist/main.js';
  for (const file of [...files, main]) {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    writeFileSync(join(folder, file), '');
  }
  cpSync(join(root, 'deploy/is-built.js'), join(folder, 'deploy/is-built.mjs'));
  const isBuilt = () => spawnSync(process.execPath, [join(folder, 'deploy/is-built.mjs')]).status === 0;
  const touch = (file: string, at: number) => utimesSync(join(folder, file), at, at);
  const all = [...files, 'src', 'src/part', 'compare/src'];
  for (const file of all) touch(file, before);
  touch(main, built);
  expect(isBuilt()).toBe(true);
  for (const file of all) {
    touch(file, after);
    expect([file, isBuilt()]).toEqual([file, false]);
    touch(file, before);
  }
  rmSync(join(folder, main));
  expect(isBuilt()).toBe(false);
});

test('SIGTERM to npm start stops the server behind a shell, which does not pass the signal on', async () => {
  await stop(await run({ start: `true && node "${main}"; true` }, 'start'));
});

test('SIGTERM to npx gjallar run stops the application', async () => {
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
  // As npm installs it, but executable.
  const command = join(folder, 'node_modules/.bin/gjallar');
  writeFileSync(command, `#!/usr/bin/env node\nimport("${pathToFileURL(main).href}");\n`, { mode: 0o755 });
  await stop(await run({}, 'exec', '--', 'gjallar', 'run', pathOf('chat.mjs')));
});
