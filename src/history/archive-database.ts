import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import knexModule, { type Knex } from 'knex';
import BetterSqlite3Client from 'knex/lib/dialects/better-sqlite3/index.js';
import Database from 'libsql';

class LibsqlClient extends BetterSqlite3Client {
  override _driver(): unknown {
    return Database;
  }

  /**
   * All our transactions write, so they take the lock at once, and can fail for another writer only here, where nothing
   * has been done. By `exec`, for libsql leaves a prepared statement that failed open, and no commit passes it.
   */
  override async _query(connection: Database.Database, statement: { sql: string }): Promise<unknown> {
    if (statement.sql !== 'BEGIN;') return super._query(connection, statement);
    connection.exec('BEGIN IMMEDIATE');
    return { ...statement, response: [] };
  }
}

export type Dialect = 'sqlite' | 'postgres' | 'mysql';

/** Which database an `ARCHIVE_URL` names; undefined if it names none that there is a driver for. */
export function dialectOf(url: string): Dialect | undefined {
  const scheme = /^([a-z0-9+]+):/.exec(url)?.[1] ?? '';
  const dialects = new Map<string, Dialect>([
    ['sqlite', 'sqlite'],
    ['postgres', 'postgres'],
    ['postgresql', 'postgres'],
    ['mysql', 'mysql'],
    ['mariadb', 'mysql'],
  ]);
  return dialects.get(scheme);
}

/**
 * @param url `sqlite:<path>`, `postgres://…` or `mysql://…`
 * @throws RangeError for another scheme
 */
export function connect(url: string): { knex: Knex; dialect: Dialect } {
  const dialect = dialectOf(url);
  switch (dialect) {
    case 'sqlite':
      return { dialect, knex: connectSqlite(url.replace(/^sqlite:(\/\/(?=\/))?/, '')) };
    case 'postgres':
      return { dialect, knex: knexModule({ client: 'pg', connection: url, ...remote }) };
    case 'mysql': {
      const connection = url.replace(/^mariadb:/, 'mysql:');
      return { dialect, knex: knexModule({ client: 'mysql2', connection, ...remote }) };
    }
    default:
      throw new RangeError('ARCHIVE_URL must begin with sqlite:, postgres:// or mysql://');
  }
}

const ignore = () => {};
/** knex would print what is also thrown. */
const log = { warn: ignore, error: ignore, deprecate: ignore, debug: ignore };
/** One process needs few connections: one archives, the others read. */
const remote = { log, acquireConnectionTimeout: 10_000, pool: { min: 0, max: 4 } };

function connectSqlite(filename: string): Knex {
  mkdirSync(dirname(filename), { recursive: true, mode: 0o700 });
  return knexModule({
    client: LibsqlClient,
    connection: { filename },
    useNullAsDefault: true,
    log,
    pool: {
      min: 1,
      max: 1,
      afterCreate(connection: Database.Database, done: (error: Error | null, connection: unknown) => void) {
        connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
        done(null, connection);
      },
    },
  });
}

/** Runs `work` in a transaction while no other process does, whatever it is. */
export async function exclusively<T>(knex: Knex, dialect: Dialect, work: (trx: Knex) => Promise<T>): Promise<T> {
  if (dialect === 'sqlite') return retryBusy(() => knex.transaction(work));
  return knex.transaction(async (trx) => {
    if (dialect === 'postgres') {
      await trx.raw('SELECT pg_advisory_xact_lock(hashtext(?))', [LOCK]);
      return work(trx);
    }
    // MySQL ends a transaction with each table it creates, so the lock is the session's.
    await trx.raw('SELECT GET_LOCK(?, 60)', [LOCK]);
    try {
      return await work(trx);
    } finally {
      await trx.raw('SELECT RELEASE_LOCK(?)', [LOCK]);
    }
  });
}

const LOCK = 'gjallar_archive';

/**
 * Tries again while another process writes to a SQLite file. SQLite could wait for it by itself, but then this thread
 * would stand still.
 */
export async function retryBusy<T>(attempt: () => Promise<T>): Promise<T> {
  for (let left = 200; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      const busy = error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY');
      if (!busy || left === 0) throw error;
      await sleep(10 + 40 * Math.random());
    }
  }
}
