import type Database from 'libsql';
import { requireOptional } from '../../../base/optional-packages.js';
import { retryWhileBusy } from '../files.js';
import type { WriteConnection } from './connection.js';
import { hasPosition } from './position.js';

/**
 * `oldest` is the time of the oldest message kept, null if there is none; `first` its offset, else `offset + 1`. `before` is the
 * tag of the message before.
 */
const schema = `
  CREATE TABLE checks (at INTEGER NOT NULL);
  CREATE TABLE conversations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name NOT NULL UNIQUE,
    offset INTEGER NOT NULL,
    tag INTEGER NOT NULL,
    first INTEGER NOT NULL,
    oldest INTEGER,
    touched INTEGER NOT NULL
  );
  CREATE INDEX conversations_due ON conversations (oldest) WHERE oldest IS NOT NULL;
  CREATE INDEX conversations_empty ON conversations (touched) WHERE oldest IS NULL;
  CREATE TABLE messages (
    serial INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    tag INTEGER NOT NULL,
    before INTEGER NOT NULL,
    at INTEGER NOT NULL,
    sender NOT NULL,
    text NOT NULL
  );
  CREATE UNIQUE INDEX messages_page ON messages (conversation, offset);
  CREATE TABLE keys (
    conversation INTEGER NOT NULL,
    key NOT NULL,
    offset INTEGER NOT NULL,
    tag INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (conversation, key)
  ) WITHOUT ROWID;
  CREATE INDEX keys_due ON keys (at);
`;

export const VERSION = 1;

export interface SqliteFile {
  writer: WriteConnection;
  reader: Database.Database;
  /** Whether the file lacks messages that it had before, because it was replaced by an older one or removed. */
  hasLost: boolean;
}

/**
 * Opens the file, or creates it; many processes may do so at once.
 */
export async function openFile(path: string): Promise<SqliteFile> {
  const Database = requireOptional<typeof import('libsql')>('libsql');
  const AsyncDatabase = requireOptional<typeof import('libsql/promise')>('libsql/promise');
  const writer = await retryWhileBusy(() => new AsyncDatabase(path, { timeout: 0 }) as unknown as WriteConnection);
  // Reads never wait for the writer in WAL mode; only for a recovery after a crash.
  const reader = await retryWhileBusy(() => new Database(path, { timeout: 5000 }));
  try {
    await retryWhileBusy(() => writer.exec('PRAGMA journal_mode = WAL'));
    // A commit must survive a power cut. Otherwise the offset of an acknowledged message could be given out twice.
    // In WAL mode that is one fdatasync a transaction, on libsql's thread, and shared by the batch.
    await writer.exec('PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864');
    const hasLost = await retryWhileBusy(() => migrate(writer, path));
    return { writer, reader, hasLost };
  } catch (error) {
    writer.close();
    reader.close();
    throw error;
  }
}

async function migrate(writer: WriteConnection, path: string): Promise<boolean> {
  await writer.exec('BEGIN IMMEDIATE');
  try {
    const { user_version: version } = (await writer.prepare('PRAGMA user_version')).get([]) as { user_version: number };
    if (version > VERSION)
      throw new Error(`The history file is of a later gjallar (format ${version}, not ${VERSION}).`);
    if (version === 0) {
      await writer.exec(schema);
      await writer.exec('INSERT INTO checks VALUES (0)');
      await writer.exec(`PRAGMA user_version = ${VERSION}`);
    }
    const hasLost = !(await hasPosition(path, writer));
    await writer.exec('COMMIT');
    return hasLost;
  } catch (error) {
    if (writer.inTransaction) await writer.exec('ROLLBACK');
    throw error;
  }
}
