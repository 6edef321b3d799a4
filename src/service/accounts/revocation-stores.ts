import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster, Redis } from 'ioredis';
import type Database from 'libsql';
import { createPrivately, replaceFile, retryWhileBusy } from '../../features/history/files.js';

/** Where revocations are kept, for all workers and machines: texts by field. It must reject in bounded time. */
export interface RevocationStore {
  read(): Promise<ReadonlyMap<string, string>>;
  /** Adds fields, then removes others. A field never changes, so callers at the same time lose nothing. */
  change(added: ReadonlyMap<string, string>, removed: readonly string[]): Promise<void>;
  /** Whether the last read has found less than was once written, even by workers that have ended. */
  hasLost?(): boolean;
  /** Calls back each time the store can be reached again. It may then lack what it had. */
  onReturn?(listener: () => void): void;
  close?(): void;
}

/** In one hash of Redis, which all machines share. The connection is the history's. */
export const redisRevocations = (redis: Redis | Cluster, key: string): RevocationStore => ({
  read: async () => new Map(Object.entries(await redis.hgetall(key))),
  change: async (added, removed) => {
    if (added.size > 0) await redis.hset(key, new Map(added));
    if (removed.length > 0) await redis.hdel(key, ...removed);
  },
  onReturn: (listener) => void redis.on('ready', listener),
});

/** The file of the revocations in `DATA_DIR`. */
export const revocationsFile = (dataDir: string): string => join(dataDir, 'revocations.db');
/** The file with the number of its changes. Its name is another one, so that who removes revocations.db* does not remove it. */
export const revocationsPosition = (dataDir: string): string => join(dataDir, 'revocations-position');

/** How long SQLite waits for the write of another worker, in ms. */
const BUSY_MS = 1000;

/** How often the list was changed, as the database says. */
const changesOf = (file: Database.Database): number =>
  (file.prepare('PRAGMA user_version').get() as { user_version: number }).user_version;

/**
 * In a SQLite file in `DATA_DIR`, which all workers of the machine share. It is a file of its own, so that a restored history does
 * not allow revoked tokens again. Another file beside it has the number of its changes: a database with fewer of them is an older
 * one, or a new one, and one without that file was copied.
 */
export function sqliteRevocations(dataDir: string): RevocationStore {
  const positionFile = revocationsPosition(dataDir);
  const readPosition = (): number | undefined => {
    try {
      return Number(readFileSync(positionFile, 'utf8')) || undefined;
    } catch {
      return undefined;
    }
  };
  let hasLost = false;
  let opened: Promise<Database.Database> | undefined;
  const open = async () => {
    // A server that keeps its messages in Redis may have no SQLite.
    const { default: Sqlite } = await import('libsql');
    const path = revocationsFile(dataDir);
    createPrivately(path);
    const file = new Sqlite(path, { timeout: 0 });
    const schema = `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
      CREATE TABLE IF NOT EXISTS revocations (id TEXT PRIMARY KEY, value TEXT NOT NULL)`;
    // The workers of a new server make the file at the same time.
    await retryWhileBusy(() => file.exec(schema), BUSY_MS).catch((error) => {
      file.close();
      throw error;
    });
    return file;
  };
  /** Uses the file. One that cannot be opened is tried again with the next call. */
  const use = async <T>(work: (file: Database.Database) => T): Promise<T> => {
    opened ??= open();
    opened.catch(() => {
      opened = undefined;
    });
    const file = await opened;
    return retryWhileBusy(() => work(file), BUSY_MS);
  };
  return {
    read: () =>
      use((file) => {
        // It is read first, because the others write it last.
        const position = readPosition();
        const changes = changesOf(file);
        hasLost = position === undefined ? changes > 0 : changes < position;
        return new Map(file.prepare('SELECT id, value FROM revocations').raw().all() as [string, string][]);
      }),
    hasLost: () => hasLost,
    change: (added, removed) =>
      use((file) => {
        const add = file.prepare('REPLACE INTO revocations VALUES (?, ?)');
        const remove = file.prepare('DELETE FROM revocations WHERE id = ?');
        const changes = file
          .transaction(() => {
            const next = Math.max(changesOf(file), readPosition() ?? 0) + 1;
            file.exec(`PRAGMA user_version = ${next}`);
            for (const field of added) add.run([...field]);
            for (const field of removed) remove.run([field]);
            return next;
          })
          .immediate();
        replaceFile(positionFile, String(changes));
      }),
    close: () => void opened?.then((file) => file.close()).catch(() => {}),
  };
}
