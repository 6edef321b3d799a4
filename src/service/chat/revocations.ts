import { join } from 'node:path';
import type { Cluster, Redis } from 'ioredis';
import type Database from 'libsql';
import { CheckedOutage } from '../../base/outage.js';
import { own } from '../../base/owner.js';
import { createPrivately, retryWhileBusy } from '../../features/history/files.js';
import type { MachineWorker } from '../../host/index.js';
import { type FieldChange, newGeneration, type RevocationStore, RevokedTokens } from '../accounts/revocations.js';

/** How often the store is read, in ms, in case the announcement of a change was lost. */
const INTERVAL_MS = 15_000;
/** The same before the list was read for the first time. */
const FIRST_INTERVAL_MS = 200;
/** How long the first read may fail, because Redis is being connected, before that is reported, in ms. */
const GRACE_MS = 2000;
/** How long a loss stays among the problems, in ms: the store works, but the operator must look. */
const SHOWN_MS = 3_600_000;
const LOST = {
  code: 'REVOCATIONS_LOST',
  text: 'the list of revoked tokens was lost: workers write it back, and revocations of the last 15 s may be missing',
} as const;

/**
 * Keeps a worker's list of revoked tokens up to date. While the store cannot be read, the worker uses the list that it has
 * read last. Before it has read any, it accepts no token.
 */
export class WatchedRevocations {
  readonly tokens: RevokedTokens;
  private readonly outage: CheckedOutage;
  private readonly startedAt = performance.now();
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  /**
   * @param onChange called after each read
   * @param announce makes the workers of all machines read the list
   */
  constructor(
    store: RevocationStore,
    private readonly reports: Pick<MachineWorker['reports'], 'log' | 'problems'>,
    onChange: () => void,
    announce: () => void,
  ) {
    this.tokens = new RevokedTokens(store, {
      onChange,
      onEmpty: announce,
      onLoss: (missing) => {
        const { log, problems } = reports;
        problems.raise(LOST, LOST, SHOWN_MS);
        log.error({ code: LOST.code, missing }, LOST.text);
      },
      onRestored: (byThis) => {
        reports.log.info({}, 'the list of revoked tokens is complete again');
        if (byThis) announce();
      },
    });
    this.outage = new CheckedOutage({
      reasonFor: () => ({ code: 'REVOCATIONS_UNAVAILABLE', text: effectOf(this.tokens) }),
      check: () => this.tokens.read(),
    });
    store.onReturn?.(() => this.refresh());
    this.refresh();
  }

  /** Reads the list, because another worker may have changed it. */
  refresh(): void {
    clearTimeout(this.timer);
    if (!this.isClosed) own('reading the revoked tokens', this.read());
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.outage.close();
    this.reports.problems.clear(LOST);
  }

  private async read(): Promise<void> {
    await this.tokens.read().catch((error) => {
      const isStarting = !this.tokens.isKnown && performance.now() - this.startedAt < GRACE_MS;
      if (!isStarting && !this.isClosed) this.outage.failed(error);
    });
    clearTimeout(this.timer);
    if (this.isClosed) return;
    this.timer = setTimeout(() => this.refresh(), this.tokens.isKnown ? INTERVAL_MS : FIRST_INTERVAL_MS).unref();
  }
}

function effectOf({ isKnown, isBehind }: RevokedTokens): string {
  if (!isKnown) return 'the revoked tokens cannot be read: no token is accepted';
  if (isBehind) return 'the revoked tokens cannot be written: workers that start now accept tokens that were revoked';
  return 'the revoked tokens cannot be read: tokens that are revoked now stay valid here';
}

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
/** How long SQLite waits for the write of another worker, in ms. */
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
  private database: Promise<Database.Database> | undefined;

  constructor(private readonly dataDir: string) {}

  async read(): Promise<ReadonlyMap<string, string>> {
    const database = await this.opened();
    const all = () => database.prepare('SELECT id, value FROM revocations').raw().all();
    return new Map((await retryWhileBusy(all, BUSY_MS)) as [string, string][]);
  }

  async replace(changes: readonly FieldChange[]): Promise<boolean> {
    const database = await this.opened();
    const get = database.prepare('SELECT value FROM revocations WHERE id = ?').raw();
    const set = database.prepare('REPLACE INTO revocations VALUES (?, ?)');
    const remove = database.prepare('DELETE FROM revocations WHERE id = ?');
    const work = database.transaction(() => {
      const valid = changes.filter(([field, from]) => (get.get([field]) as [string] | undefined)?.[0] === from);
      for (const [field, , to] of valid) to === undefined ? remove.run([field]) : set.run([field, to]);
      return valid.length === changes.length;
    });
    return retryWhileBusy(() => work.immediate(), BUSY_MS);
  }

  close(): void {
    void this.database?.then(
      (database) => database.close(),
      () => {},
    );
    this.database = undefined;
  }

  /** A file that cannot be opened is tried again with the next call. */
  private opened(): Promise<Database.Database> {
    if (this.database) return this.database;
    const opening = this.open();
    this.database = opening;
    opening.catch(() => {
      if (this.database === opening) this.database = undefined;
    });
    return opening;
  }

  private async open(): Promise<Database.Database> {
    // A server that keeps its messages in Redis may have no SQLite.
    const { default: Sqlite } = await import('libsql');
    const path = join(this.dataDir, 'revocations.db');
    createPrivately(path);
    const database = new Sqlite(path, { timeout: 0 });
    try {
      // The workers of a new server make the file at the same time.
      await retryWhileBusy(() => {
        database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
          CREATE TABLE IF NOT EXISTS revocations (id TEXT PRIMARY KEY, value TEXT NOT NULL)`);
        // No other machine knows the list of this file.
        const [field, , value] = newGeneration();
        database.prepare('INSERT OR IGNORE INTO revocations VALUES (?, ?)').run([field, value]);
      }, BUSY_MS);
    } catch (error) {
      database.close();
      throw error;
    }
    return database;
  }
}
