/** knex's dialect for better-sqlite3, which has no types of its own. */
declare module 'knex/lib/dialects/better-sqlite3/index.js' {
  import { Knex } from 'knex';
  import Database from 'libsql';
  export default class BetterSqlite3Client extends Knex.Client {
    /** Returns the driver; ours is libsql, which has the same interface. */
    _driver(): unknown;
    /** Runs one statement and adds its response to it. */
    _query(connection: Database.Database, statement: { sql: string }): Promise<unknown>;
  }
}
