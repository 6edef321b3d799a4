import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Server } from 'socket.io';
import { Archive, ArchiveConflict } from '../../../src/features/history/archive/archive.js';
import { type HistoryStore, keyOf, SqliteHistoryStore } from '../../../src/features/history/index.js';
import { OperatorMessages } from '../../../src/service/chat/operator/messages.js';
import { postgres } from '../../support/databases.js';
import { temporaryFolder } from '../../support/folder.js';

/** What the operator deletes while the archiver copies it. */

let database: Awaited<ReturnType<typeof postgres>>;
let archive: Archive;
let history: SqliteHistoryStore;
beforeAll(async () => {
  database = await postgres();
  archive = new Archive(database.url);
  history = await SqliteHistoryStore.open({ dataDir: temporaryFolder() });
});
afterAll(async () => {
  await history?.close();
  await archive?.close();
  await database?.remove();
});

/** A room in which two users have said something. */
async function talk(room: string): Promise<string> {
  const key = keyOf({ room });
  const said = ['ann: one', 'bob: two', 'ann: three'].map((line) => line.split(': ') as [string, string]);
  await history.append(
    key,
    said.map(([from, text]) => ({ from, text, at: Date.now() })),
  );
  return key;
}

const operatorOf = (store: HistoryStore) =>
  new OperatorMessages({ io: new Server() } as never, { history: store, archive });

/** Reads a batch as the archiver does. Resolves with what writes it. */
async function readBatch(): Promise<() => Promise<void>> {
  const erasure = await archive.lastErasure();
  const from = await archive.cursor();
  const { changes, cursor } = await history.changes(from, 100);
  return () => archive.write(changes, from, cursor, erasure);
}

const archived = async (key: string) =>
  (await archive.read(key, { after: 0, limit: 100 })).messages.map(({ from, text }) => [from, text]);

test('what a user has written does not come back with a batch that was read before', async () => {
  const key = await talk('hall');
  const write = await readBatch();
  expect(await operatorOf(history).deleteUser('ann')).toEqual({ deleted: 2, archived: 0 });
  await expect(write()).rejects.toThrow(ArchiveConflict);
  await (await readBatch())();
  expect(await archived(key)).toEqual([
    ['', ''],
    ['bob', 'two'],
    ['', ''],
  ]);
});

test('a message that is archived after it was looked for is erased there', async () => {
  const key = await talk('lobby');
  const copiedMeanwhile: HistoryStore = Object.assign(Object.create(history), {
    erase: async (...args: Parameters<HistoryStore['erase']>) => {
      await (await readBatch())();
      return history.erase(...args);
    },
  });
  await operatorOf(copiedMeanwhile).deleteMessage('lobby', 3);
  expect((await history.read(key, { after: 2, limit: 1 })).messages).toMatchObject([{ from: '', text: '' }]);
  expect(await archived(key)).toEqual([
    ['ann', 'one'],
    ['bob', 'two'],
    ['', ''],
  ]);
});
