import { chmod, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Database from 'libsql';
import { SqliteHistoryStore } from '../../../src/features/history/sqlite/store.js';
import { temporaryFolder } from '../../support/folder.js';
import { changesFrom, count, offsets, say } from './contract/subject.js';

const MIB = 1 << 20;

let dataDir: string;
let stores: SqliteHistoryStore[];
const open = async (options: object = {}) => {
  const store = await SqliteHistoryStore.open({ dataDir, ...options });
  stores.push(store);
  return store;
};
const sizeOf = async (ending = '') => (await stat(join(dataDir, `history.db${ending}`))).size;
const rowsOf = (table: string) => {
  const db = new Database(join(dataDir, 'history.db'), { readonly: true } as never);
  try {
    return (db.prepare(`SELECT COUNT(*) AS count FROM ${table}`).get() as { count: number }).count;
  } finally {
    db.close();
  }
};

beforeEach(async () => {
  stores = [];
  dataDir = join(temporaryFolder(), 'data');
});
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
});

describe('a file with a limit', () => {
  test('loses the oldest messages of all conversations, and stays within its size', async () => {
    const maxBytes = 4 * MIB;
    const store = await open({ maxBytes });
    let trimmed = 0;
    store.listen({
      onTrimmed: (number) => {
        trimmed += number;
      },
    });
    const [, second] = await store.append('quiet', [say('the oldest'), say('the second')]);
    const large = 'x'.repeat(30_000);
    for (let n = 0; n < 60; n++) {
      const room = `room ${n % 3}`;
      await Promise.all(count(1, 10).map(() => store.append(room, [say(large)])));
      expect(store.bytes).toBeLessThanOrEqual(maxBytes);
    }
    // 18 MB were written. A batch may lie beside what is removed for it.
    expect(await sizeOf()).toBeLessThan(maxBytes + 2 * MIB);
    expect(await sizeOf('-wal')).toBeLessThan(16 * MIB);
    expect(trimmed).toBeGreaterThan(400);
    expect(await store.head('quiet')).toEqual({ offset: 2, tag: second!.tag });
    expect(await store.read('quiet', { after: 0, limit: 10 })).toMatchObject({ messages: [], complete: false });
    for (const room of ['room 0', 'room 1', 'room 2']) {
      const newest = await store.read(room, { limit: 20 });
      expect(newest).toMatchObject({ offset: 200, complete: true });
      expect(offsets(newest.messages)).toEqual(count(181, 200));
      const oldest = await store.read(room, { after: 0, limit: 1000 });
      expect(oldest.complete).toBe(false);
      const kept = oldest.messages.at(0)!.offset;
      expect((await store.read(room, { after: kept - 1, limit: 5 })).complete).toBe(true);
      expect((await store.read(room, { after: kept - 2, limit: 5 })).complete).toBe(false);
    }
    expect(offsets(await store.append('quiet', [say('the third')]))).toEqual([3]);
    expect((await changesFrom(store, undefined, 100)).changes.at(-1)).toMatchObject({ text: 'the third' });
  });

  test('is held to it by many stores at once, with small messages and many conversations', async () => {
    const maxBytes = MIB;
    const several = await Promise.all([open({ maxBytes }), open({ maxBytes }), open({ maxBytes })]);
    for (let n = 0; n < 30; n++) {
      await Promise.all(
        several.map((store, index) =>
          Promise.all(count(1, 100).map((m) => store.append(`${index} ${n} ${m}`, [say('hello')], { key: `${m}` }))),
        ),
      );
    }
    // 9,000 conversations with a key each. None but the newest are kept.
    expect(several[0]!.bytes).toBeLessThan(1.5 * maxBytes);
    const [first] = await several[1]!.append('0 0 1', [say('again')]);
    expect((await several[2]!.read('0 0 1', { limit: 1 })).messages).toMatchObject([
      { text: 'again', tag: first!.tag },
    ]);
  });

  test('shrinks to it when a smaller one is set', async () => {
    const first = await open();
    for (let n = 0; n < 10; n++) await first.append('room', Array(100).fill(say('x'.repeat(3000))));
    expect(first.bytes).toBeGreaterThan(3 * MIB);
    const second = await open({ maxBytes: MIB });
    let trimmed = 0;
    second.listen({
      onTrimmed: (number) => {
        trimmed += number;
      },
    });
    await second.trim(Date.now());
    expect(second.bytes).toBeLessThanOrEqual(MIB);
    expect((await second.read('room', { limit: 10 })).complete).toBe(true);
    expect(trimmed).toBeGreaterThan(500);
  });
});

describe('reading', () => {
  test('creates nothing', async () => {
    const store = await open();
    for (let n = 0; n < 200; n++) {
      await store.head(`room ${n}`);
      await store.read(`room ${n}`, { after: 0, limit: 10 });
    }
    expect(rowsOf('conversations')).toBe(0);
  });

  test('tells a forgotten conversation from one that begins again', async () => {
    const store = await open({ ttlMs: 1000 });
    const week = 7 * 24 * 3_600_000;
    for (let n = 1; n <= 3; n++) {
      const [{ offset, tag } = { offset: 0, tag: 0 }] = await store.append('room', [say('x')]);
      expect(offset).toBe(1);
      await store.trim(Date.now() + week + 2000);
      await store.trim(Date.now() + week + 2000);
      expect(rowsOf('conversations')).toBe(0);
      expect(await store.read('room', { after: 1, tag, limit: 1 })).toMatchObject({ complete: false, after: 0 });
    }
  });
});

describe('the files', () => {
  const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

  test('are this user’s alone, and so is a folder that is created for them', async () => {
    const store = await open();
    await store.append('room', [say('x')]);
    expect(await modeOf(dataDir)).toBe(0o700);
    for (const ending of ['', '-wal', '-shm']) expect(await modeOf(join(dataDir, `history.db${ending}`))).toBe(0o600);
  });

  test('are made private where they were not; the folder keeps its mode', async () => {
    await mkdir(dataDir);
    await chmod(dataDir, 0o755);
    await writeFile(join(dataDir, 'history.db'), '');
    await chmod(join(dataDir, 'history.db'), 0o644);
    const store = await open();
    await store.append('room', [say('x')]);
    for (const ending of ['', '-wal', '-shm']) expect(await modeOf(join(dataDir, `history.db${ending}`))).toBe(0o600);
    expect(await modeOf(dataDir)).toBe(0o755);
  });
});
