import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import knex from 'knex';
import { Archive, ArchiveConflict } from '../../../src/features/history/archive/archive.js';
import { Archiver } from '../../../src/features/history/archive/archiver.js';
import { readThrough } from '../../../src/features/history/page.js';
import { RedisHistoryStore } from '../../../src/features/history/redis/store.js';
import { SqliteHistoryStore } from '../../../src/features/history/sqlite/store.js';
import { type Change, type HistoryStore, MAX_PAGE_BYTES } from '../../../src/features/history/store.js';
import { mariadb, postgres } from '../../support/databases.js';
import { temporaryFolder } from '../../support/folder.js';
import { DURABLE, RedisProcess } from '../../support/redis.js';
import { HOUR, say, texts } from './contract/subject.js';

const count = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const offsets = (messages: readonly { offset: number }[]): number[] => messages.map(({ offset }) => offset);

/** A message of a log whose tags are the offsets and `base`. */
const change = (conversation: string, offset: number, base = 0, text = `${offset}`): Change => ({
  ...{ conversation, offset, tag: base + offset, before: offset > 1 ? base + offset - 1 : 0, text },
  ...{ from: 'alice', at: 1_700_000_000_000 + offset },
});

let sharedPostgres: ReturnType<typeof postgres> | undefined;
afterAll(async () => (await sharedPostgres)?.remove());

/** All tests here have the same server: to set one up takes longer than most of them. */
function ofThisFile(): ReturnType<typeof postgres> {
  sharedPostgres ??= postgres();
  return sharedPostgres;
}

describe.each([
  ['PostgreSQL', async () => ({ url: (await ofThisFile()).url, remove: async () => {} })],
  ['MariaDB', mariadb],
])('the archive in %s', (_name, start) => {
  let server: Awaited<ReturnType<typeof start>>;
  let archive: Archive;
  beforeAll(async () => {
    server = await start();
    // As many workers do at the same time.
    const opened = [1, 2, 3].map(() => new Archive(server.url));
    archive = opened[0]!;
    await Promise.all(opened.map((one) => one.cursor()));
    await Promise.all(opened.slice(1).map((one) => one.close()));
  });
  afterAll(async () => {
    await archive?.close();
    await server.remove();
  });

  test('says that it cannot be reached in the same way for each call', async () => {
    const closed = new Archive(server.url);
    await closed.cursor();
    await closed.close();
    const calls = [closed.cursor(), closed.lastErasure(), closed.read('room', { limit: 1 })];
    for (const call of await Promise.allSettled(calls)) {
      expect(call).toMatchObject({ status: 'rejected', reason: { code: 'HISTORY_UNAVAILABLE' } });
    }
  });

  /** Writes as the archiver does, at the cursor where the archive stands. */
  async function write(changes: Change[]): Promise<void> {
    const cursor = await archive.cursor();
    await archive.write(changes, cursor, `${Number(cursor ?? 0) + 1}`);
  }

  test('gives back what was written, paged both ways', async () => {
    await write(count(1, 60).map((n) => change('room', n)));
    await write(count(61, 70).flatMap((n) => [change('room', n), change('Room', n)]));
    const newest = await archive.read('room', { limit: 5 });
    const { conversation: _, before: __, ...last } = change('room', 70);
    expect(newest.messages.at(-1)).toEqual(last);
    expect(offsets(newest.messages)).toEqual(count(66, 70));
    expect(offsets((await archive.read('room', { after: 10, limit: 20 })).messages)).toEqual(count(11, 30));
    expect(offsets((await archive.read('room', { before: 10, limit: 5 })).messages)).toEqual(count(5, 9));
    expect(offsets((await archive.read('room', { after: 3, before: 6, limit: 5 })).messages)).toEqual([4, 5]);
    expect(offsets((await archive.read('Room', { after: 0, limit: 3 })).messages)).toEqual([61, 62, 63]);
    expect(await archive.read('nobody', { limit: 3 })).toMatchObject({ messages: [] });
  });

  test('erases messages, and none comes back with a batch that was read before', async () => {
    const direct = 'direct:alice\nbob';
    await write([...count(1, 4).map((n) => change('gone', n)), change('gone', 1, 50), change(direct, 1)]);
    await write([
      { ...change('gone', 2, 50), from: 'bob' },
      { ...change(direct, 2), from: 'bob' },
    ]);
    const erasure = await archive.lastErasure();
    const cursor = await archive.cursor();
    const places = [2, 3, 99].map((offset) => ({ offset, tag: offset }));
    expect(await archive.erase('gone', places)).toBe(2);
    expect(await archive.erase('gone', places)).toBe(0);
    const page = await archive.read('gone', { tag: 4, before: 4, limit: 9 });
    expect(texts(page.messages)).toEqual(['1', '', '']);
    expect(page.messages[1]).toMatchObject({ from: '', offset: 2 });
    await expect(archive.write([change('gone', 7)], cursor, 'next', erasure)).rejects.toThrow(ArchiveConflict);
    expect(await archive.cursor()).toBe(cursor);

    const isOwn = (conversation: string) => conversation === direct;
    const found = [];
    for await (const messages of archive.search({ author: 'bob', isOwn })) found.push(...messages);
    expect(found.map(({ conversation, tag, offset, from }) => [conversation, tag, offset, from])).toEqual([
      ['gone', 52, 2, 'bob'],
      [direct, 1, 1, 'alice'],
      [direct, 2, 2, 'bob'],
    ]);
    expect(await archive.eraseFound(found.filter(({ from }) => from === 'bob'))).toBe(2);
    expect(texts((await archive.read(direct, { after: 0, limit: 9 })).messages)).toEqual(['1', '']);
    expect(await archive.eraseConversation('gone')).toBe(3);
    expect(texts((await archive.read('gone', { after: 0, limit: 9 })).messages)).toEqual(['', '']);
  });

  test('keeps each message once, however often it is written', async () => {
    await write([change('once', 1), change('once', 2), change('once', 2)]);
    await write([change('once', 2, 0, 'again'), change('once', 3)]);
    expect(texts((await archive.read('once', { after: 0, limit: 9 })).messages)).toEqual(['1', '2', '3']);
  });

  test('moves the cursor with the batch, and for one writer only', async () => {
    const cursor = await archive.cursor();
    await expect(archive.write([change('conflict', 1)], 'elsewhere', 'x')).rejects.toThrow(ArchiveConflict);
    const writers = count(1, 4).map((n) => archive.write([change('conflict', n)], cursor, `${100 + n}`));
    const settled = await Promise.allSettled(writers);
    const won = settled.flatMap(({ status }, index) => (status === 'fulfilled' ? [index + 1] : []));
    expect(won.length).toBe(1);
    expect(await archive.cursor()).toBe(`${100 + won[0]!}`);
    expect(offsets((await archive.read('conflict', { after: 0, limit: 9 })).messages)).toEqual(won);
  });

  test('writes nothing of a batch that fails', async () => {
    const cursor = await archive.cursor();
    const bad = { ...change('atomic', 2), at: null as unknown as number };
    await expect(archive.write([change('atomic', 1), bad], cursor, 'x')).rejects.toThrow();
    expect(await archive.cursor()).toBe(cursor);
    expect((await archive.read('atomic', { after: 0, limit: 9 })).messages).toEqual([]);
  });

  test('keeps any text as it is, and takes a thousand long ones', async () => {
    const strange = ['', 'a\0b', '\x1a', '\x1a0\0', '😀 naïve', `it's "quoted" \\ \n`, '$1 ? :name', ' end '];
    await write(strange.map((text, index) => change(`strange ${text}`, index + 1, 0, text)));
    for (const [index, text] of strange.entries()) {
      const { messages } = await archive.read(`strange ${text}`, { after: 0, limit: 9 });
      expect(messages).toMatchObject([{ text, offset: index + 1, tag: index + 1 }]);
    }
    await write(count(1, 1000).map((n) => change('long', n, 0, 'ü'.repeat(10_000))));
    expect((await archive.read('long', { before: 1001, limit: 1 })).messages[0]!.text.length).toBe(10_000);
  });

  test('follows a log into the one that it has gone on from, and tells them apart by their messages', async () => {
    await write(count(1, 10).map((n) => change('logs', n)));
    // 9 and 10 were lost, and their offsets given out again.
    const later = count(9, 12).map((n) => change('logs', n, 100, `two ${n}`));
    await write([{ ...later[0]!, before: 8 }, ...later.slice(1)]);
    const all = await archive.read('logs', { after: 0, limit: 100 });
    expect(texts(all.messages)).toEqual([...count(1, 8).map(String), 'two 9', 'two 10', 'two 11', 'two 12']);
    expect(texts((await archive.read('logs', { before: 11, limit: 4 })).messages)).toEqual([
      '7',
      '8',
      'two 9',
      'two 10',
    ]);
    expect(offsets((await archive.read('logs', { tag: 10, before: 10, limit: 99 })).messages)).toEqual(count(1, 9));
    expect(texts((await archive.read('logs', { tag: 111, before: 11, limit: 2 })).messages)).toEqual([
      'two 9',
      'two 10',
    ]);
    // This one begins again. Some of its messages were trimmed before they were archived.
    await write([change('logs', 1, 200, 'three 1'), change('logs', 4, 200, 'three 4')]);
    expect(texts((await archive.read('logs', { after: 0, limit: 9 })).messages)).toEqual(['three 1', 'three 4']);
    // The right data is back.
    await write([{ ...change('logs', 13, 300, 'two 13'), before: 112 }]);
    expect(texts((await archive.read('logs', { before: 99, limit: 3 })).messages)).toEqual([
      'two 11',
      'two 12',
      'two 13',
    ]);
  });

  test('ends a page early at a number of bytes, and so does a page of the store that goes on here', async () => {
    const dataDir = temporaryFolder();
    const store = await SqliteHistoryStore.open({ dataDir, ttlMs: HOUR });
    const now = Date.now();
    const long = (n: number) => `${n} ${'ü"'.repeat(10_000)}`;
    await store.append(
      'large',
      count(1, 100).map((n) => say(long(n), n <= 60 ? now - 2 * HOUR : now)),
    );
    await archived(store, [archive], 50);
    expect(await store.trim(now)).toBe(60);
    const read: number[] = [];
    for (let after = 0; after < 100; after = read.at(-1)!) {
      const page = await readThrough(store, archive, 'large', { after, limit: 1000 });
      expect(page.complete).toBe(true);
      expect(JSON.stringify(page.messages).length).toBeLessThan(MAX_PAGE_BYTES);
      read.push(...offsets(page.messages));
    }
    expect(read).toEqual(count(1, 100));
    const back: number[] = [];
    for (let before = 101; before > 1; before = back[0]!) {
      const page = await readThrough(store, archive, 'large', { before, limit: 1000 });
      expect(page.complete).toBe(true);
      back.unshift(...offsets(page.messages));
    }
    expect(back).toEqual(read);
    expect((await readThrough(store, undefined, 'large', { before: 70, limit: 50 })).complete).toBe(false);
    const lost = await readThrough(store, archive, 'large', { tag: 1, after: 103, limit: 50 });
    expect(lost).toMatchObject({ complete: false, lost: true });
    await store.close();
  });

  test('has each message once after restores of the store, and what the logs of a conversation share', async () => {
    const dataDir = temporaryFolder();
    const database = join(dataDir, 'history.db');
    const using = async <T>(work: (store: SqliteHistoryStore) => Promise<T>) => {
      const store = await SqliteHistoryStore.open({ dataDir });
      return work(store).finally(() => store.close());
    };
    const post = (text: string) => using((store) => store.append('restored', [say(text)]));
    const copyAll = () =>
      using(async (store) => {
        const from = await archive.cursor();
        const { changes, cursor } = await store.changes(from, 100);
        await archive.write(changes, from, cursor);
      });
    const readAll = () => using((store) => readThrough(store, archive, 'restored', { after: 0, limit: 100 }));
    await post('a');
    await copyAll();
    await post('b');
    await cp(database, join(dataDir, 'copy.db'));
    await copyAll();
    await post('lost');
    await copyAll();
    await cp(join(dataDir, 'copy.db'), database);
    await post('c');
    await copyAll();
    expect(texts((await archive.read('restored', { after: 0, limit: 100 })).messages)).toEqual(['a', 'b', 'c']);
    expect(await readAll()).toMatchObject({ complete: true, offset: 3 });
    // A second restore, to the state of the first one: all messages come again, and are there.
    await cp(join(dataDir, 'copy.db'), database);
    await post('lost, too');
    await copyAll();
    await cp(join(dataDir, 'copy.db'), database);
    await post('c2');
    await copyAll();
    await post('d');
    await copyAll();
    const kept: string[] = [];
    for await (const found of archive.search({ author: 'alice' })) {
      kept.push(...texts(found.filter(({ conversation }) => conversation === 'restored')));
    }
    expect(kept.sort()).toEqual(['a', 'b', 'c', 'c2', 'd', 'lost', 'lost, too']);
    expect(texts((await readAll()).messages)).toEqual(['a', 'b', 'c2', 'd']);
    expect(texts((await archive.read('restored', { after: 0, limit: 9 })).messages)).toEqual(['a', 'b', 'c2', 'd']);
    expect(await archive.eraseConversation('restored')).toBe(7);
  });

  test('has one archiver at a time', async () => {
    const leases = await Promise.all(['a', 'b', 'c'].map((owner) => archive.lease(owner, 60_000)));
    expect(leases.filter(Boolean).length).toBe(1);
    const winner = ['a', 'b', 'c'][leases.indexOf(true)]!;
    expect(await archive.lease(winner, 60_000)).toBe(true);
    expect(await archive.lease('d', 60_000)).toBe(false);
    expect(await archive.lease(winner, 0)).toBe(true);
    expect(await archive.lease('d', 0)).toBe(true);
  });
});

/** Runs archivers on the archives until one of them has found nothing more to do. */
async function archived(store: HistoryStore, archives: Archive[], batch = 7): Promise<void> {
  const archivers: Archiver[] = [];
  await new Promise<void>((resolve, reject) => {
    const onBatch = (size: number) => size === 0 && resolve();
    for (const archive of archives) archivers.push(new Archiver(store, archive, { batch, onBatch, onError: reject }));
    for (const archiver of archivers) archiver.start();
  });
  await Promise.all(archivers.map((archiver) => archiver.stop()));
}

describe('the archiver', () => {
  test('archives each message of a Redis exactly once, whoever and whatever is killed', async () => {
    const redis = await RedisProcess.start(...DURABLE);
    const database = await ofThisFile();
    // The tests of the archive have left messages in the other one.
    const admin = knex({ client: 'pg', connection: database.url });
    await admin.raw('CREATE DATABASE archiver');
    await admin.destroy();
    const url = new URL('/archiver', database.url).href;
    const open = () => RedisHistoryStore.open({ redis: redis.url });
    const rooms = count(1, 3).map((n) => `room ${n}`);
    let store = await open();
    const sayMore = () =>
      Promise.all(
        rooms.map((room) =>
          store.append(
            room,
            count(1, 60).map((n) => say(`${n}`)),
          ),
        ),
      );

    await sayMore();
    const archives = [new Archive(url), new Archive(url)];
    await archived(store, archives);

    // The archiver goes away in the middle of its work, and so does Redis.
    await sayMore();
    let batches = 0;
    await new Promise<void>((resolve) => {
      const archiver = new Archiver(store, archives[0]!, {
        batch: 10,
        onError: () => {},
        onBatch: () => ++batches === 5 && resolve(archiver.stop()),
      });
      archiver.start();
    });
    await store.close();
    await redis.stop('SIGKILL');
    await redis.start();
    store = await open();
    await sayMore();
    await archived(store, archives);

    // The database goes away while the archiver works; the archiver tells, and goes on once it is back.
    await sayMore();
    const archiver = new Archiver(store, archives[0]!, { batch: 10, leaseMs: 300, onBatch, onError });
    let onFailure = () => {};
    let onDone = () => {};
    let seen = 0;
    let killed: Promise<void> | undefined;
    function onBatch(size: number) {
      if (++seen === 3) killed = database.kill();
      if (size === 0) onDone();
    }
    function onError() {
      onFailure();
    }
    const failed = new Promise<void>((resolve) => {
      onFailure = resolve;
    });
    archiver.start();
    await failed;
    const done = new Promise<void>((resolve) => {
      onDone = resolve;
    });
    // Its connections end before it does, and its directory has room for one.
    await killed;
    await database.start();
    await done;
    await archiver.stop();

    await Promise.all(archives.map((archive) => archive.close()));
    const again = new Archive(url);
    for (const room of rooms) {
      const { messages } = await again.read(room, { after: 0, limit: 1000 });
      expect(offsets(messages)).toEqual(count(1, 240));
    }
    await again.close();
    await store.close();
    await redis.remove();
  });

  test('refuses a database that there is no driver for', async () => {
    expect(() => new Archive('oracle://x')).toThrow(RangeError);
    expect(() => new Archive('sqlite:./archive.db')).toThrow(RangeError);
    const nobody = new Archive('postgres://nobody@127.0.0.1:1/nothing');
    await expect(nobody.read('room', { limit: 1 })).rejects.toMatchObject({ code: 'HISTORY_UNAVAILABLE' });
    await nobody.close();
  });
});
