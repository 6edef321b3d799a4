import type { Knex } from 'knex';
import { requireOptional, requirePackages } from '../../../base/optional-packages.js';
import { type Dialect, dialectOf, drivers, packagesOf } from './packages.js';

/**
 * @param url `postgres://…` or `mysql://…`
 * @throws RangeError for another scheme
 * @throws GjallarError BAD_CONFIG if a package is missing, or too old or new
 */
export function connect(url: string): { knex: Knex; dialect: Dialect } {
  const dialect = dialectOf(url);
  if (!dialect) throw new RangeError('ARCHIVE_URL must begin with postgres:// or mysql://');
  requirePackages('ARCHIVE_URL', packagesOf(url));
  const { default: knexModule } = requireOptional<typeof import('knex')>('knex');
  const client = drivers[dialect];
  return { dialect, knex: knexModule({ client, connection: url.replace(/^mariadb:/, 'mysql:'), ...remote }) };
}

const ignore = () => {};
/** Without it knex prints the errors that it also throws. */
const log = { warn: ignore, error: ignore, deprecate: ignore, debug: ignore };
/** One process needs few connections: one to archive, the others to read. */
const remote = { log, acquireConnectionTimeout: 10_000, pool: { min: 0, max: 4 } };

/** Runs `work` in a transaction that no other process runs at the same time. */
async function exclusively<T>(knex: Knex, dialect: Dialect, work: (trx: Knex) => Promise<T>): Promise<T> {
  return knex.transaction(async (trx) => {
    if (dialect === 'postgres') {
      await trx.raw('SELECT pg_advisory_xact_lock(hashtext(?))', [LOCK]);
      return work(trx);
    }
    // MySQL commits a transaction with each table that it creates, so the session holds the lock.
    await trx.raw('SELECT GET_LOCK(?, 60)', [LOCK]);
    try {
      return await work(trx);
    } finally {
      await trx.raw('SELECT RELEASE_LOCK(?)', [LOCK]);
    }
  });
}

const LOCK = 'gjallar_archive';

/** A conversation's log. A new one begins where the history has lost messages that are archived. */
export interface LogRow {
  id: number;
  /** SHA-256 of the name, in hex: short enough for an index, and the same in every collation. */
  conversation_hash: string;
  conversation: string;
  /** The log that it continues, up to an offset. */
  follows: number | null;
  follows_offset: number | null;
  last_offset: number;
  last_tag: number;
}

export interface MessageRow {
  log: number;
  offset: number;
  tag: number;
  /** Milliseconds since 1970. */
  said_at: number;
  sender: string;
  text: string;
}

/**
 * `cursor`: how far is archived. `archiver`: the lease, `until` its end.
 * `erasures`: another text after each erasure.
 */
export interface StateRow {
  name: 'cursor' | 'archiver' | 'erasures';
  value: string;
  until: number;
}

export const tables = { state: 'gjallar_state', logs: 'gjallar_logs', messages: 'gjallar_messages' } as const;

type CreateTable = (name: string, columns: (table: Knex.CreateTableBuilder) => void) => Promise<void>;

/** Creates the tables that are missing, once, however many processes start at the same time. */
export async function createTables(knex: Knex, dialect: Dialect): Promise<void> {
  await exclusively(knex, dialect, async (trx) => {
    const create: CreateTable = async (name, columns) => {
      if (await trx.schema.hasTable(name)) return;
      await trx.schema.createTable(name, (table) => {
        if (dialect === 'mysql') table.collate('utf8mb4_bin');
        columns(table);
      });
    };
    await create(tables.state, (table) => {
      table.string('name', 32).primary();
      table.text('value').notNullable();
      table.bigInteger('until').notNullable();
    });
    await create(tables.logs, (table) => {
      table.bigIncrements('id');
      table.string('conversation_hash', 64).notNullable();
      table.text('conversation', 'longtext').notNullable();
      table.bigInteger('follows');
      table.bigInteger('follows_offset');
      table.bigInteger('last_offset').notNullable();
      table.bigInteger('last_tag').notNullable();
      table.index(['conversation_hash'], 'gjallar_logs_of_conversation');
    });
    await create(tables.messages, (table) => {
      table.bigInteger('log').notNullable();
      table.bigInteger('offset').notNullable();
      table.bigInteger('tag').notNullable();
      table.bigInteger('said_at').notNullable();
      table.text('sender', 'longtext').notNullable();
      table.text('text', 'longtext').notNullable();
      table.primary(['log', 'offset']);
    });
    // MySQL has no transaction around the creation of a table, so a table may be there without its rows.
    const rows = ['cursor', 'archiver', 'erasures'].map((name) => ({ name, value: '', until: 0 }));
    await trx(tables.state).insert(rows).onConflict('name').merge(['name']);
  });
}

/** PostgreSQL stores no NUL in a text: it is written as SUB and `0`, SUB itself as SUB and `1`. */
export const encode = (text: string): string => text.replaceAll('\x1a', '\x1a1').replaceAll('\0', '\x1a0');
export const decode = (text: string): string => text.replaceAll('\x1a0', '\0').replaceAll('\x1a1', '\x1a');
