import { join } from 'node:path';
import type Database from 'libsql';
import { createPrivately } from '../../../features/history/files.js';
import { type FieldChange, newGeneration, type RevocationStore } from '../../accounts/revocations.js';

/** How long a write waits for the write of another worker, in ms. */
const BUSY_MS = 1000;

/**
 * Revocations in a SQLite file in `DATA_DIR`, which all workers of the machine share. It is a file of its own, so that a
 * restored history does not allow revoked tokens again.
 */
export class SqliteRevocations implements RevocationStore {
  private database: Database.Database | undefined;

  constructor(private readonly dataDir: string) {}

  async read(): Promise<ReadonlyMap<string, string>> {
    const rows = (await this.open()).prepare('SELECT id, value FROM revocations').raw().all() as [string, string][];
    return new Map(rows);
  }

  async replace(changes: readonly FieldChange[]): Promise<boolean> {
    const database = await this.open();
    const get = database.prepare('SELECT value FROM revocations WHERE id = ?').raw();
    const set = database.prepare('REPLACE INTO revocations VALUES (?, ?)');
    const remove = database.prepare('DELETE FROM revocations WHERE id = ?');
    let isDone = true;
    const work = database.transaction(() => {
      for (const { field, from, to } of changes) {
        if ((get.get([field]) as [string] | undefined)?.[0] !== from) isDone = false;
        else if (to === undefined) remove.run([field]);
        else set.run([field, to]);
      }
    });
    work.immediate();
    return isDone;
  }

  async close(): Promise<void> {
    this.database?.close();
    this.database = undefined;
  }

  /** A file that cannot be opened is tried again with the next call. */
  private async open(): Promise<Database.Database> {
    // A server that keeps its messages in Redis may have no SQLite.
    const { default: Sqlite } = await import('libsql');
    if (this.database) return this.database;
    const path = join(this.dataDir, 'revocations.db');
    createPrivately(path);
    const database = new Sqlite(path, { timeout: BUSY_MS });
    try {
      database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
        CREATE TABLE IF NOT EXISTS revocations (id TEXT PRIMARY KEY, value TEXT NOT NULL)`);
      // No other machine knows the list of this file.
      const { field, to } = newGeneration();
      database.prepare('INSERT OR IGNORE INTO revocations VALUES (?, ?)').run([field, to]);
    } catch (error) {
      database.close();
      throw error;
    }
    this.database = database;
    return database;
  }
}
