import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import knexModule, { type Knex } from 'knex';
import Database from 'libsql';
import { checkedVersions, LibsqlClient } from '../../../src/features/history/archive/knex.private.js';

/** Says what to do when a new version of a dependency has changed what `knex.private.ts` relies on. */
function expectFrom(holds: boolean, name: string, what: string): void {
  if (holds) return;
  throw new Error(
    `${name}: ${what}. Adapt src/features/history/archive/knex.private.ts, then add the version to its checkedVersions.`,
  );
}

const calls: string[] = [];

class Recorder extends LibsqlClient {
  override _driver(): unknown {
    calls.push('_driver');
    return super._driver();
  }
  override async _query(connection: Database.Database, statement: { sql: string }): Promise<unknown> {
    calls.push(statement.sql);
    return super._query(connection, statement);
  }
}

let directory: string;
let filename: string;
let knex: Knex;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gjallar-knex-'));
  filename = join(directory, 'x.db');
  const pool = { min: 1, max: 1 };
  knex = knexModule({ client: Recorder, connection: { filename }, useNullAsDefault: true, pool });
});
afterAll(async () => {
  await knex.destroy();
  await rm(directory, { recursive: true });
});

test.each(Object.entries(checkedVersions))(
  'the installed version of %s is one that was checked',
  async (name, checked) => {
    const manifest = new URL(`../../../node_modules/${name}/package.json`, import.meta.url);
    const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
    const isChecked = checked.some((one) => version.startsWith(`${one}.`));
    expectFrom(isChecked, name, `version ${version} is installed, but only ${checked.join(', ')} was checked`);
  },
);

test('knex asks _driver for the driver, and runs each statement through _query', async () => {
  await knex.raw('CREATE TABLE t (a)');
  expectFrom(calls.includes('_driver'), 'knex', 'it no longer asks Client._driver() for its driver');
  expectFrom(calls.includes('CREATE TABLE t (a)'), 'knex', 'it no longer runs statements through Client._query()');
});

test('knex begins a transaction with the statement "BEGIN;", which takes the write lock', async () => {
  const other = new Database(filename);
  const trx = await knex.transaction();
  try {
    expectFrom(calls.includes('BEGIN;'), 'knex', 'it no longer begins a transaction with the statement "BEGIN;"');
    expect(() => other.exec('BEGIN IMMEDIATE')).toThrow(expect.objectContaining({ code: 'SQLITE_BUSY' }));
  } finally {
    await trx.rollback();
    other.close();
  }
});

test('a transaction that cannot get the lock fails as it begins, and the connection stays usable', async () => {
  await knex.raw('CREATE TABLE numbers (a)');
  const other = new Database(filename);
  other.exec('BEGIN IMMEDIATE');
  await expect(knex.transaction(async () => {})).rejects.toMatchObject({ code: 'SQLITE_BUSY' });
  other.exec('COMMIT');
  other.close();
  await knex.transaction((trx) => trx.raw('INSERT INTO numbers VALUES (1)'));
  expect(await knex('numbers').count({ count: '*' })).toEqual([{ count: 1 }]);
});
