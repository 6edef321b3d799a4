import BetterSqlite3Client from 'knex/lib/dialects/better-sqlite3/index.js';
import Database from 'libsql';

/**
 * The versions that this file was checked against. It overrides two private methods of knex: `_driver`, which names the
 * database driver, and `_query`, which runs one statement. `test/features/history/knex.test.ts` fails when a new version of knex
 * no longer calls them like that.
 */
export const checkedVersions = { knex: ['3.3'], libsql: ['0.5'] } as const;

/** knex's dialect for better-sqlite3, with libsql as its driver: libsql has the same interface, and prebuilt binaries. */
export class LibsqlClient extends BetterSqlite3Client {
  override _driver(): unknown {
    return Database;
  }

  /**
   * Begins every transaction with the write lock, because all our transactions write. Another writer can then make a
   * transaction fail only here, where nothing has been done yet. `exec` runs the statement because a prepared statement
   * that failed stays open in libsql, and no commit succeeds while it is open.
   */
  override async _query(connection: Database.Database, statement: { sql: string }): Promise<unknown> {
    if (statement.sql !== 'BEGIN;') return super._query(connection, statement);
    connection.exec('BEGIN IMMEDIATE');
    return { ...statement, response: [] };
  }
}
