import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import Database from 'libsql';
import { queries, SqliteHistoryStore } from '../../../src/features/history/sqlite/store.js';
import type { HistoryStore } from '../../../src/features/history/store.js';
import { temporaryFolder } from '../../support/folder.js';
import { changesFrom, type Harness, say } from './contract/subject.js';
import { storeContract } from './store.contract.js';
import { modelContract } from './store.model.js';

async function start(): Promise<Harness> {
  const dataDir = temporaryFolder();
  const stores: HistoryStore[] = [];
  const filled: Database.Database[] = [];
  return {
    options: { dataDir },
    async open(limits) {
      const store = await SqliteHistoryStore.open({ dataDir, ...limits });
      // As a full disk would.
      // biome-ignore lint/complexity/useLiteralKeys: private
      await store['file'].writer.exec(`PRAGMA max_page_count = ${(64 << 20) / 4096}`);
      stores.push(store);
      return store;
    },
    async refuse() {
      // Fills the file up to its limit.
      const db = new Database(join(dataDir, 'history.db'));
      filled.push(db);
      const { page_count: pages } = db.prepare('PRAGMA page_count').get() as { page_count: number };
      db.exec('CREATE TABLE ballast (bytes)');
      db.exec(`INSERT INTO ballast VALUES (zeroblob(${(64 << 20) - (pages + 20) * 4096}))`);
    },
    async accept() {
      filled[0]!.exec('DROP TABLE ballast');
      for (const db of filled.splice(0)) db.close();
    },
    async lose() {
      await Promise.all(stores.map((store) => store.close()));
      for (const end of ['', '-wal', '-shm']) await rm(join(dataDir, `history.db${end}`), { force: true });
    },
    remove: async () => {},
  };
}

storeContract(start);
modelContract(start);

describe('SQLite', () => {
  const dataDir = temporaryFolder();

  test('finds a page of 20,000 messages by its index, wherever it lies', async () => {
    const store = await SqliteHistoryStore.open({ dataDir });
    const db = new Database(join(dataDir, 'history.db'));
    const plan = (sql: string, ...values: unknown[]) =>
      (db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[]).map(({ detail }) => detail);
    for (let i = 0; i < 20; i++) await store.append('big', Array(1000).fill(say('some text')));
    for (const after of [0, 9_975, 19_950]) {
      const page = await store.read('big', { after, limit: 50 });
      expect(page.messages.map(({ offset }) => offset)).toEqual(Array.from({ length: 50 }, (_, n) => after + 1 + n));
      expect(page).toMatchObject({ complete: true, offset: 20_000 });
    }
    expect(plan(queries.conversation, 'big')).toEqual([
      'SEARCH conversations USING INDEX sqlite_autoindex_conversations_1 (name=?)',
    ]);
    expect(plan(queries.tag, 1, 5)).toEqual([
      'SEARCH messages USING INDEX messages_page (conversation=? AND offset=?)',
    ]);
    expect(plan(queries.page, 1, 5, 54)).toEqual([
      'SEARCH messages USING INDEX messages_page (conversation=? AND offset>? AND offset<?)',
    ]);
    for (const sql of [queries.lastThatFits, queries.firstThatFits]) {
      const steps = plan(sql, 1, 5, 54);
      expect(steps).toContain('SEARCH messages USING INDEX messages_page (conversation=? AND offset>? AND offset<?)');
      expect(steps.filter((step) => /TEMP B-TREE|^SCAN messages/.test(step))).toEqual([]);
    }
    expect(plan(queries.lastChangeThatFits, 19_000, 10).filter((step) => /^SCAN messages/.test(step))).toEqual([]);
    expect(plan(queries.changes, 19_000, 19_010, 10)).toEqual([
      'SEARCH m USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
      'SEARCH c USING INTEGER PRIMARY KEY (rowid=?)',
    ]);
    db.close();
    await store.close();
  });

  test('keeps everything over a restart', async () => {
    const one = await SqliteHistoryStore.open({ dataDir });
    const [first] = await one.append('room', [say('1')], { key: 'key' });
    const { cursor } = await changesFrom(one, undefined, 10_000);
    await one.close();
    const two = await SqliteHistoryStore.open({ dataDir });
    const { tag } = first!;
    expect(await two.head('room')).toEqual({ offset: 1, tag });
    expect(await two.append('room', [say('1')], { key: 'key' })).toEqual([{ ...first!, duplicate: true }]);
    expect(await two.append('room', [say('2')])).toMatchObject([{ offset: 2, before: tag }]);
    expect((await two.changes(cursor, 10)).changes.map(({ text }) => text)).toEqual(['2']);
    await two.close();
  });

  test('forgets keys with their TTL, and empty conversations after a week', async () => {
    const day = 24 * 3_600_000;
    const store = await SqliteHistoryStore.open({ dataDir });
    const now = Date.now();
    await store.append('quiet', [say('1', now)], { key: 'key' });
    await store.trim(now + day);
    expect(await store.append('quiet', [say('1', now)], { key: 'key' })).toMatchObject([{ duplicate: true }]);
    await store.trim(Date.now() + day + 1);
    expect(await store.append('quiet', [say('1', now)], { key: 'key' })).toMatchObject([{ offset: 2 }]);
    await store.trim(now + 6 * day);
    expect(await store.head('quiet')).toMatchObject({ offset: 2 });
    await store.trim(Date.now() + 7 * day + 1000);
    expect(await store.head('quiet')).toEqual({ offset: 0, tag: 0 });
    await store.close();
  });

  test('waits for another process that writes, and rejects in bounded time', async () => {
    const store = await SqliteHistoryStore.open({ dataDir });
    await store.append('busy', [say('before')]);
    const other = new Database(join(dataDir, 'history.db'));
    other.exec('BEGIN IMMEDIATE');
    await expect(store.append('busy', [say('x')])).rejects.toMatchObject({ code: 'HISTORY_UNAVAILABLE' });
    // Reading goes on.
    expect((await store.read('busy', { limit: 5 })).messages).toMatchObject([{ text: 'before' }]);
    other.exec('COMMIT');
    other.close();
    expect(await store.append('busy', [say('x')])).toMatchObject([{ offset: 2 }]);
    await store.close();
  });

  test('says what is wrong when the file cannot be opened', async () => {
    const unavailable = { name: 'HistoryError', code: 'HISTORY_UNAVAILABLE' };
    await expect(SqliteHistoryStore.open({ dataDir: '/dev/null/x' })).rejects.toMatchObject(unavailable);
    const store = await SqliteHistoryStore.open({ dataDir: join(dataDir, 'new', 'deep') });
    await store.close();
    const db = new Database(join(dataDir, 'new', 'deep', 'history.db'));
    db.exec('PRAGMA user_version = 99');
    db.close();
    await expect(SqliteHistoryStore.open({ dataDir: join(dataDir, 'new', 'deep') })).rejects.toMatchObject({
      ...unavailable,
      cause: { message: expect.stringMatching(/later gjallar/) },
    });
  });
});
