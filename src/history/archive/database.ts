import { dirname, resolve } from 'node:path';
import type { Knex } from 'knex';
import type Database from 'libsql';
import { type OptionalPackage, requirePackages } from '../../compat/optional-packages.js';
import { retryWhileBusy } from '../files/busy.js';
import { createFolder } from '../files/private-file.js';

export type Dialect = 'sqlite' | 'postgres' | 'mysql';

/** The kind of database that an `ARCHIVE_URL` names; undefined if there is no driver for it. */
function dialectOf(url: string): Dialect | undefined {
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

const drivers: Readonly<Record<Dialect, OptionalPackage>> = { sqlite: 'libsql', postgres: 'pg', mysql: 'mysql2' };

/** The packages that an archive at this URL needs. */
export function packagesOf(url: string): OptionalPackage[] {
  const dialect = dialectOf(url);
  return dialect ? ['knex', drivers[dialect]] : [];
}

/**
 * @param url `sqlite:<path>`, `postgres://…` or `mysql://…`
 * @throws RangeError for another scheme
 * @throws GjallarError BAD_CONFIG if a package is missing, or too old or new
 */
export async function connect(url: string): Promise<{ knex: Knex; dialect: Dialect }> {
  const dialect = dialectOf(url);
  requirePackages('ARCHIVE_URL', packagesOf(url));
  const { default: knexModule } = await import('knex');
  switch (dialect) {
    case 'sqlite':
      return { dialect, knex: await connectSqlite(url.replace(/^sqlite:(\/\/(?=\/))?/, '')) };
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
/** Without it knex prints the errors that it also throws. */
const log = { warn: ignore, error: ignore, deprecate: ignore, debug: ignore };
/** One process needs few connections: one to archive, the others to read. */
const remote = { log, acquireConnectionTimeout: 10_000, pool: { min: 0, max: 4 } };

async function connectSqlite(filename: string): Promise<Knex> {
  const { default: knexModule } = await import('knex');
  const { LibsqlClient } = await import('../../compat/knex.js');
  createFolder(dirname(resolve(filename)));
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

/** Runs `work` in a transaction that no other process runs at the same time. */
export async function exclusively<T>(knex: Knex, dialect: Dialect, work: (trx: Knex) => Promise<T>): Promise<T> {
  if (dialect === 'sqlite') return retryBusy(() => knex.transaction(work));
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

/** Repeats an attempt while another process writes to the SQLite file. */
export const retryBusy = <T>(attempt: () => Promise<T>): Promise<T> => retryWhileBusy(attempt, BUSY_TIMEOUT_MS, 20);

const BUSY_TIMEOUT_MS = 6000;
