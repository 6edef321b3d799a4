import { join } from 'node:path';
import type Database from 'libsql';
import type { Revocation, RevocationStore } from '../../accounts/revocations.js';
import { createPrivately } from '../../history/private-file.js';

/** How long a write waits for the write of another worker, in ms. */
const BUSY_MS = 1000;

/**
 * Revocations in a SQLite file in `DATA_DIR`, which all workers of the machine share. It is a file of its own, so that a
 * restored history does not allow revoked tokens again.
 */
export class SqliteRevocations implements RevocationStore {
  private database: Database.Database | undefined;

  constructor(private readonly dataDir: string) {}

  async all(): Promise<Revocation[]> {
    const rows = (await this.open()).prepare('SELECT value FROM revocations').all() as { value: string }[];
    return rows.map(({ value }) => JSON.parse(value) as Revocation);
  }

  async put(revocation: Revocation): Promise<void> {
    (await this.open())
      .prepare('INSERT INTO revocations VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET value = excluded.value')
      .run([revocation.id, JSON.stringify(revocation)]);
  }

  async remove(ids: readonly string[]): Promise<void> {
    const remove = (await this.open()).prepare('DELETE FROM revocations WHERE id = ?');
    for (const id of ids) remove.run([id]);
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
    } catch (error) {
      database.close();
      throw error;
    }
    this.database = database;
    return database;
  }
}
