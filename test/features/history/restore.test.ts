import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { SqliteHistoryStore } from '../../../src/features/history/sqlite/store.js';
import { end, own } from '../../support/children.js';
import { connect, disconnectAll, expectOk, upgraded } from '../../support/clients.js';
import { cleanEnvironment, runToEnd, startServer } from '../../support/server.js';
import { say, texts } from './contract/subject.js';
import '../../support/long.js';
import { atEnd } from '../../support/ends.js';
import { temporaryFolder } from '../../support/folder.js';

let folder: string;
let dataDir: string;
let database: string;
let mark: string;

beforeEach(async () => {
  folder = temporaryFolder();
  dataDir = join(folder, 'data');
  database = join(dataDir, 'history.db');
  mark = `${database}-mark`;
});
afterEach(async () => {
  disconnectAll();
});

async function using<T>(work: (store: SqliteHistoryStore) => Promise<T>): Promise<T> {
  const store = await SqliteHistoryStore.open({ dataDir });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const post = (...words: string[]) =>
  using((store) =>
    store.append(
      'hall',
      words.map((word) => say(word)),
    ),
  );
const head = () => using((store) => store.head('hall'));

/** Replaces the mark again and again by one that says the same, as a process does that stores messages. */
const MARKING = `
const { readFileSync, renameSync, rmSync, statSync, writeFileSync } = require('node:fs');
const mark = process.argv[1];
const draft = mark + '.draft';
const content = JSON.parse(readFileSync(mark, 'utf8'));
for (let count = 0; ; count++) {
  rmSync(draft, { force: true });
  writeFileSync(draft, '');
  writeFileSync(draft, JSON.stringify({ ...content, created: statSync(draft).birthtimeMs }));
  renameSync(draft, mark);
  if (count === 0) process.stdout.write('begun');
}`;

/** A client that has seen everything up to a position comes back. */
const returning = (epoch: string, after: number) => using((store) => store.read('hall', { epoch, after, limit: 100 }));

describe('a database keeps its epochs', () => {
  test('over a crash', async () => {
    const crashed = await SqliteHistoryStore.open({ dataDir });
    const [{ epoch } = { epoch: '' }] = await crashed.append('hall', [say('a')]);
    // The crashed process has not written its mark.
    expect(await head()).toEqual({ epoch, offset: 1 });
    await crashed.close();
  });

  test('while another process writes its mark', async () => {
    const [{ epoch } = { epoch: '' }] = await post('a');
    const other = own(spawn(process.execPath, ['--eval', MARKING, mark], { stdio: ['ignore', 'pipe', 'inherit'] }));
    await once(other.stdout!, 'data');
    atEnd(() => end(other));
    for (let count = 0; count < 200; count++) expect((await head()).epoch).toBe(epoch);
  });
});

describe('a database gets new epochs', () => {
  test.each([
    ['is copied over the present one', () => cpSync(join(folder, 'copy', 'history.db'), database)],
    [
      'is restored with its whole folder',
      () => {
        rmSync(dataDir, { recursive: true });
        cpSync(join(folder, 'copy'), dataDir, { recursive: true, preserveTimestamps: true });
      },
    ],
    [
      'is copied over the present folder',
      () => cpSync(join(folder, 'copy'), dataDir, { recursive: true, preserveTimestamps: true }),
    ],
    [
      'is restored without its mark',
      () => {
        cpSync(join(folder, 'copy', 'history.db'), database);
        rmSync(mark);
      },
    ],
  ])('if an earlier state %s', async (_how, restore) => {
    const [{ epoch } = { epoch: '' }] = await post('a', 'b');
    cpSync(dataDir, join(folder, 'copy'), { recursive: true });
    await post('lost 1', 'lost 2');
    expect(await head()).toEqual({ epoch, offset: 4 });
    restore();
    await post('c', 'd', 'e');
    // Without a new epoch, the client would miss c and d, and be told that nothing is missing.
    const page = await returning(epoch, 4);
    expect(page).toMatchObject({ complete: false, offset: 5 });
    expect(page.epoch).not.toBe(epoch);
    expect(texts(page.messages)).toEqual(['a', 'b', 'c', 'd', 'e']);
    // A second start is no second restore.
    expect((await head()).epoch).toBe(page.epoch);
  });
});

test('gjallar backup copies a running server, and gjallar restore brings its messages back with a new epoch', async () => {
  const environment = { DATA_DIR: dataDir, WORKERS: '1' };
  const file = join(folder, 'backup.db');
  const server = await startServer(environment);
  let position: { epoch: string; offset: number };
  try {
    const client = connect(server.url);
    await upgraded(client);
    expectOk(await client.emitWithAck('join', 'hall'));
    expectOk(await client.emitWithAck('message', { room: 'hall', text: 'kept' }));
    expect(await runToEnd(['backup', file], environment)).toEqual({
      code: 0,
      stdout: `saved 1 message of 1 conversation in ${file}\n`,
      stderr: '',
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await runToEnd(['backup', file], environment)).toMatchObject({
      code: 1,
      stderr: `gjallar: "${file}" exists. Name a new file.\n`,
    });
    const reply = await client.emitWithAck('message', { room: 'hall', text: 'lost' });
    expectOk(reply);
    position = { epoch: reply.epoch!, offset: reply.offset! };
    expect(await runToEnd(['restore', file], environment)).toMatchObject({
      code: 1,
      stderr: `gjallar: a server uses DATA_DIR "${dataDir}". Stop it before you restore a backup.\n`,
    });
  } finally {
    await server.stop();
  }
  expect(await runToEnd(['restore', file], environment)).toMatchObject({ code: 0, stderr: '' });
  const again = await startServer(environment);
  try {
    const client = connect(again.url);
    await upgraded(client);
    const { epoch, offset } = position;
    expectOk(await client.emitWithAck('join', 'hall'));
    const page = await client.emitWithAck('history', { room: 'hall', epoch, after: offset });
    expect(page).toMatchObject({ ok: true, complete: false, offset: 1, messages: [{ text: 'kept' }] });
    expect(page.epoch).not.toBe(epoch);
  } finally {
    await again.stop();
  }
  // It starts eight processes, one after the other.
});

test.each([
  ['a file that is not there', () => {}, 'there is no file'],
  ['a folder', (file: string) => mkdirSync(file), 'is a folder. Name a file that gjallar backup has written.'],
  ['a file of another kind', (file: string) => writeFileSync(file, 'text '.repeat(1000)), 'is not a complete history'],
])('gjallar restore refuses %s with one line', async (_what, make, words) => {
  const file = join(folder, 'backup.db');
  make(file);
  const { code, stderr } = await runToEnd(['restore', file], { DATA_DIR: dataDir });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^gjallar: [^\n]+\n$/);
  expect(stderr).toContain(words);
  expect(stderr).toContain(`"${file}"`);
});

describe('on a disk without room for the history', () => {
  const main = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));

  /** The shell limits the length of files to 100 KiB, in blocks of 512 bytes. The variable keeps the compile cache off. */
  const runInLimits = (args: string[]) =>
    spawnSync('sh', ['-c', 'ulimit -f 200; exec "$@"', 'sh', process.execPath, main, ...args], {
      env: { ...cleanEnvironment(), NODE_DISABLE_COMPILE_CACHE: '1', DATA_DIR: dataDir },
      encoding: 'utf8',
      timeout: 60_000,
    });
  const line = (what: string) =>
    expect.stringMatching(new RegExp(`^gjallar: cannot ${what} "[^\n]+: [^\n]+\\. .+\\.\n$`));

  beforeEach(() => post('x'.repeat(200_000)));

  test('gjallar backup ends with one line, and leaves no file', () => {
    const file = join(folder, 'backup.db');
    const { status, stdout, stderr } = runInLimits(['backup', file]);
    expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: line('save the history of DATA_DIR') });
    expect(readdirSync(folder)).toEqual(['data']);
  });

  test('gjallar restore ends with one line, and keeps the history', async () => {
    const file = join(folder, 'backup.db');
    expect(await runToEnd(['backup', file], { DATA_DIR: dataDir })).toMatchObject({ code: 0 });
    const before = await head();
    const { status, stdout, stderr } = runInLimits(['restore', file]);
    expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: line('restore') });
    expect(stderr).toMatch(/EFBIG: file too large\. Make room on that disk, or use another one\.$/m);
    expect(await head()).toEqual(before);
    expect(readdirSync(dataDir).filter((name) => name.includes('restored'))).toEqual([]);
  });
});
