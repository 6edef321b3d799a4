import { closeSync, copyFileSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'libsql';
import { GjallarError } from '../../../base/errors.js';
import { createFolder, isBusy } from '../files.js';
import { positionFileOf } from './position.js';
import { VERSION } from './schema.js';
import { FILE } from './store.js';

/** What a backup contains. */
export interface BackupFacts {
  messages: number;
  conversations: number;
}

/** What a backup has besides the history: texts by name. */
type Others = ReadonlyMap<string, string>;
const OTHERS = 'CREATE TABLE IF NOT EXISTS others (name TEXT PRIMARY KEY, value TEXT NOT NULL)';

/**
 * Copies the history of a server, which may be running, into a file that does not exist yet. The copy is of one moment.
 * @param others what the file holds besides
 *
 * @throws GjallarError BAD_CONFIG
 */
export function backUpHistory(dataDir: string, file: string, others: Others): BackupFacts {
  const source = join(dataDir, FILE);
  if (!existsSync(source)) throw failure(`DATA_DIR "${dataDir}" has no history. Set DATA_DIR to that of the server.`);
  createEmpty(file);
  try {
    using(source, (db) => db.prepare('VACUUM INTO ?').run([file]), { timeout: 5000 });
    using(file, (db) => addOthers(db, others));
    sync(file);
    return checkBackup(file);
  } catch (error) {
    remove(file);
    throw explained(error, `cannot save the history of DATA_DIR "${dataDir}" in "${file}"`);
  }
}

/**
 * Replaces the history in a folder by a backup, while no server uses the folder. Clients that have read
 * newer messages learn that these are missing, and so does the operator.
 *
 * @throws GjallarError BAD_CONFIG
 */
export function restoreHistory(file: string, dataDir: string): BackupFacts & { others: Others } {
  const remedy = 'Name a file that gjallar backup has written.';
  if (!existsSync(file)) throw failure(`there is no file "${file}". ${remedy}`);
  try {
    if (statSync(file).isDirectory()) throw failure(`"${file}" is a folder. ${remedy}`);
    createFolder(dataDir);
    return replaceBy(file, join(dataDir, FILE));
  } catch (error) {
    throw explained(error, `cannot restore "${file}" to DATA_DIR "${dataDir}"`);
  }
}

function replaceBy(file: string, target: string): BackupFacts & { others: Others } {
  const draft = `${target}.restored`;
  rmSync(draft, { force: true });
  createEmpty(draft);
  try {
    copyFileSync(file, draft);
    const facts = { ...checkBackup(draft, file), others: using(draft, takeOthers) };
    requireUnused(target);
    sync(draft);
    // Without its position, the database counts as restored. It goes first, in case the next steps fail.
    for (const path of [positionFileOf(target), `${target}-wal`, `${target}-shm`]) rmSync(path, { force: true });
    renameSync(draft, target);
    sync(dirname(target));
    return facts;
  } finally {
    remove(draft);
  }
}

function addOthers(db: Database.Database, others: Others): void {
  db.exec(OTHERS);
  const add = db.prepare('INSERT INTO others VALUES (?, ?)');
  db.transaction(() => {
    for (const other of others) add.run([...other]);
  })();
}

function takeOthers(db: Database.Database): Others {
  // A copy of the file that was made by other means has none.
  db.exec(OTHERS);
  const others = new Map(db.prepare('SELECT name, value FROM others').raw().all() as [string, string][]);
  db.exec('DROP TABLE others');
  return others;
}

/** @param name the file that the user has named */
function checkBackup(file: string, name = file): BackupFacts {
  try {
    return using(file, factsOf);
  } catch (error) {
    if (isFull(error)) throw error;
    throw failure(`"${name}" is not a complete history of this version: ${(error as Error).message}`);
  }
}

function factsOf(db: Database.Database): BackupFacts {
  const { integrity_check: verdict } = db.prepare('PRAGMA integrity_check').get() as { integrity_check: string };
  if (verdict !== 'ok') throw new Error(verdict);
  const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (version < 1 || version > VERSION) throw new Error(`it has format ${version}, not ${VERSION}`);
  return db
    .prepare(
      'SELECT (SELECT COUNT(*) FROM messages) AS messages, (SELECT COUNT(*) FROM conversations) AS conversations',
    )
    .get() as BackupFacts;
}

/** Leaving WAL mode needs the only connection to the database. */
function requireUnused(target: string): void {
  if (!existsSync(target)) return;
  try {
    using(target, (db) => db.exec('PRAGMA journal_mode = DELETE'), { timeout: 1000 });
  } catch (error) {
    if (isBusy(error)) {
      throw failure(`a server uses DATA_DIR "${dirname(target)}". Stop it before you restore a backup.`);
    }
    // A damaged database is replaced.
  }
}

function using<Result>(file: string, work: (db: Database.Database) => Result, options?: Database.Options): Result {
  const db = new Database(file, options);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

function createEmpty(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw failure(`"${file}" exists. Name a new file.`);
    throw explained(error, `cannot write "${file}"`);
  }
}

/** Removes a database and what SQLite puts beside it, of which it leaves some on a full disk. */
function remove(file: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(file + end, { force: true });
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EFBIG', 'SQLITE_FULL'].includes((error as { code?: string }).code ?? '');
}

/** One line with the reason, without the names of our drafts, and a remedy. */
function explained(error: unknown, what: string): GjallarError {
  if (error instanceof GjallarError) return error;
  const [reason] = (error as Error).message.split(', ', 1);
  const remedy = isFull(error)
    ? 'Make room on that disk, or use another one.'
    : 'Check the paths, their rights and the disk.';
  return failure(`${what}: ${reason}. ${remedy}`);
}

function failure(message: string): GjallarError {
  return new GjallarError('BAD_CONFIG', message);
}
