import { join } from 'node:path';
import type { Cluster, Redis } from 'ioredis';
import type Database from 'libsql';
import { createPrivately } from '../../../features/history/files.js';
import { type FieldChange, newGeneration, type RevocationStore } from '../../accounts/revocations.js';

/** For each change a field, its expected value and its next one; an empty text means that there is none. */
const replace = `
local all = 1
for at = 1, #ARGV, 3 do
  local field, from, to = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local present = redis.call('HMGET', KEYS[1], field)[1] or ''
  if present ~= from then all = 0
  elseif to == '' then redis.call('HDEL', KEYS[1], field)
  else redis.call('HSET', KEYS[1], field, to) end
end
return all`;
/** How many changes one script call makes: Redis serves no other client meanwhile. */
const MAX_SCRIPT = 200;
/** How long a write to SQLite waits for the write of another worker, in ms. */
const BUSY_MS = 1000;

/** Revocations in one hash of Redis, which all machines share. The connection is the history's. */
export class RedisRevocations implements RevocationStore {
  constructor(
    private readonly redis: Redis | Cluster,
    private readonly key: string,
  ) {}

  async read(): Promise<ReadonlyMap<string, string>> {
    return new Map(Object.entries(await this.redis.hgetall(this.key)));
  }

  async replace(changes: readonly FieldChange[]): Promise<boolean> {
    let isDone = true;
    for (let at = 0; at < changes.length; at += MAX_SCRIPT) {
      const args = changes.slice(at, at + MAX_SCRIPT).flatMap(([field, from = '', to = '']) => [field, from, to]);
      if ((await this.redis.eval(replace, 1, this.key, ...args)) !== 1) isDone = false;
    }
    return isDone;
  }

  /** Redis may return without what it had. */
  onReturn(listener: () => void): void {
    this.redis.on('ready', listener);
  }
}

/**
 * Revocations in a SQLite file in `DATA_DIR`, which all workers of the machine share. It is a file of its own, so that a
 * restored history does not allow revoked tokens again.
 */
export class SqliteRevocations implements RevocationStore {
  private database: Database.Database | undefined;

  constructor(private readonly dataDir: string) {}

  async read(): Promise<ReadonlyMap<string, string>> {
    const rows = (await this.open()).prepare('SELECT id, value FROM revocations').raw();
    return new Map(rows.all() as [string, string][]);
  }

  async replace(changes: readonly FieldChange[]): Promise<boolean> {
    const database = await this.open();
    const get = database.prepare('SELECT value FROM revocations WHERE id = ?').raw();
    const set = database.prepare('REPLACE INTO revocations VALUES (?, ?)');
    const remove = database.prepare('DELETE FROM revocations WHERE id = ?');
    const work = database.transaction(() => {
      const valid = changes.filter(([field, from]) => (get.get([field]) as [string] | undefined)?.[0] === from);
      for (const [field, , to] of valid) to === undefined ? remove.run([field]) : set.run([field, to]);
      return valid.length === changes.length;
    });
    return work.immediate();
  }

  close(): void {
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
      const [field, , value] = newGeneration();
      database.prepare('INSERT OR IGNORE INTO revocations VALUES (?, ?)').run([field, value]);
    } catch (error) {
      database.close();
      throw error;
    }
    this.database = database;
    return database;
  }
}
