import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { SqliteHistoryStore } from '../../../src/features/history/sqlite/store.js';
import type { Position } from '../../../src/features/history/store.js';
import { sqliteRevocations } from '../../../src/service/accounts/revocation-stores.js';
import { connect, disconnectAll, expectOk, nextEvent, upgraded } from '../../support/clients.js';
import { cleanEnvironment, runToEnd, startServer } from '../../support/server.js';
import { say, texts } from './contract/subject.js';
import '../../support/long.js';
import { temporaryFolder } from '../../support/folder.js';
import { readiness } from '../../support/reports.js';
import { SECRET, tokenOf } from '../../support/tokens.js';

let folder: string;
let dataDir: string;
let database: string;

beforeEach(async () => {
  folder = temporaryFolder();
  dataDir = join(folder, 'data');
  database = join(dataDir, 'history.db');
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

/** A client that has seen everything up to a position comes back. */
const returning = ({ offset, tag }: Position) =>
  using((store) => store.read('hall', { tag, after: offset, limit: 100 }));

/** Whether a start finds that the database lacks messages. */
const isLost = () =>
  using(async (store) => {
    let isTold = false;
    store.listen({ onLost: () => (isTold = true) });
    return isTold;
  });

test('a database keeps its positions over a crash', async () => {
  const crashed = await SqliteHistoryStore.open({ dataDir });
  const [{ tag } = { tag: 0 }] = await crashed.append('hall', [say('a')]);
  // The crashed process has not written its position.
  expect(await head()).toEqual({ offset: 1, tag });
  expect(await isLost()).toBe(false);
  await crashed.close();
});

describe('a client is told that messages are lost', () => {
  test.each<[how: string, restore: () => void, isToldAtStart: boolean]>([
    ['is copied over the present one', () => cpSync(join(folder, 'copy', 'history.db'), database), true],
    [
      'is restored with its whole folder',
      () => {
        rmSync(dataDir, { recursive: true });
        cpSync(join(folder, 'copy'), dataDir, { recursive: true, preserveTimestamps: true });
      },
      false,
    ],
    [
      'is copied over the present folder',
      () => cpSync(join(folder, 'copy'), dataDir, { recursive: true, preserveTimestamps: true }),
      false,
    ],
    [
      'is restored without its position',
      () => {
        cpSync(join(folder, 'copy', 'history.db'), database);
        rmSync(`${database}-position`);
      },
      true,
    ],
  ])('if an earlier state %s', async (_how, restore, isToldAtStart) => {
    const shared = (await post('a', 'b'))[1]!;
    cpSync(dataDir, join(folder, 'copy'), { recursive: true });
    const last = (await post('lost 1', 'lost 2'))[1]!;
    expect(last.offset).toBe(4);
    restore();
    // Nothing in the folder tells that an older folder is in its place. The operator then learns it from the figures of reads.
    expect(await isLost()).toBe(isToldAtStart);
    expect(await isLost()).toBe(false);
    await post('c', 'd', 'e');
    // Otherwise, the client would miss c and d, and be told that nothing is missing.
    const page = await returning(last);
    expect(page).toMatchObject({ complete: false, lost: true, after: 2, offset: 5 });
    expect(texts(page.messages)).toEqual(['c', 'd', 'e']);
    expect(await returning(shared)).toMatchObject({ complete: true, after: 2 });
  });
});

test('gjallar backup copies a running server, and gjallar restore brings its messages back, which clients and the operator are told', async () => {
  const environment = { DATA_DIR: dataDir, WORKERS: '1' };
  const file = join(folder, 'backup.db');
  const server = await startServer(environment);
  let position: Position;
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
    position = { offset: reply.offset!, tag: reply.tag! };
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
    const { offset, tag } = position;
    expectOk(await client.emitWithAck('join', 'hall'));
    const page = await client.emitWithAck('history', { room: 'hall', tag, after: offset });
    expect(page).toMatchObject({ ok: true, complete: false, lost: true, offset: 1, after: 1, messages: [] });
    await again.logged(({ msg }) => msg === 'DATA_DIR has lost messages that it had confirmed');
  } finally {
    await again.stop();
  }
  // It starts eight processes, one after the other.
});

test('a backup holds the revoked tokens, and a restore adds them to those that the folder has', async () => {
  const expires = Date.now() + 3_600_000;
  const revoke = async (user: string, dataDir: string) => {
    const store = sqliteRevocations(dataDir);
    const text = JSON.stringify({ id: `user:${user}`, before: Date.now(), at: Date.now(), expires });
    await store.change(new Map([[user, text]]), []);
    store.close?.();
  };
  await post('a');
  await revoke('ann', dataDir);
  const file = join(folder, 'backup.db');
  expect(await runToEnd(['backup', file], { DATA_DIR: dataDir })).toMatchObject({ code: 0 });
  const other = join(folder, 'other');
  const environment = { DATA_DIR: other, WORKERS: '1', JWT_SECRET: SECRET };
  for (const users of [['ann'], ['ann', 'bob']]) {
    expect(await runToEnd(['restore', file], environment)).toMatchObject({ code: 0, stderr: '' });
    const server = await startServer(environment);
    try {
      for (const user of users) {
        const client = connect(server.url, { auth: { token: await tokenOf({ sub: user }, { age: 60 }) } });
        const [error] = await nextEvent<[Error & { data: unknown }]>(client, 'connect_error');
        expect(error.data).toMatchObject({ code: 'TOKEN_REVOKED' });
      }
      // Nothing says what was revoked since the backup.
      const { problems, warnings } = await readiness(server.url);
      expect([...problems, ...warnings]).toContainEqual(expect.stringContaining('revoked tokens was lost'));
    } finally {
      await server.stop();
    }
    await revoke('bob', other);
  }
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
