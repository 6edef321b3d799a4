/** The types of knex's dialect for better-sqlite3, which comes without any. */
declare module 'knex/lib/dialects/better-sqlite3/index.js' {
  import { Knex } from 'knex';
  import Database from 'libsql';
  export default class BetterSqlite3Client extends Knex.Client {
    /** Returns the database driver. */
    _driver(): unknown;
    /** Runs one statement and adds its response to it. */
    _query(connection: Database.Database, statement: { sql: string }): Promise<unknown>;
  }
}
