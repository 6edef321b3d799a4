import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename } from 'node:path';
import { freshEpoch, HistoryError } from '../store.js';
import type { Writer } from './connection.js';

/**
 * The mark: a small file beside the database that tells a database which was only restarted from one that was restored
 * or copied. A restored database lacks messages that clients have seen, so its conversations need new epochs.
 *
 * The file names the log, the newest serial number of a message, and the time of its own creation as the file system has it.
 * It is written about once a second, after the commits that it covers.
 *
 * - The database alone was replaced: the mark names another log, or a serial number that the database does not have.
 * - The folder was copied or restored as a whole: the mark was created at another time than the one that it names. No
 *   program can set that time, and the clock of a process does not matter.
 */
interface Mark {
  log: string;
  serial: number;
  /** In ms since 1970; null if the file system does not keep it. */
  created: number | null;
}

export const markOf = (database: string): string => `${database}-mark`;

/** Whether the database is the one that the mark was written for. Call it while no other process can commit. */
function isMarked(database: string, log: string, serial: number): boolean {
  let file: number | undefined;
  try {
    // One descriptor for both: a process that has the database open may replace the mark at any moment.
    file = openSync(markOf(database), 'r');
    const mark = JSON.parse(readFileSync(file, 'utf8')) as Mark;
    if (mark.log !== log || mark.serial > serial) return false;
    return mark.created === null || mark.created === fstatSync(file).birthtimeMs;
  } catch {
    return false;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** The identity of a file, which a file that takes its place does not have; undefined if there is none. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/** @throws Error if the file cannot be written; the former one is then still there */
function writeMark(database: string, log: string, serial: number): void {
  const path = markOf(database);
  const draft = `${path}.${process.pid}`;
  const write = (created: Mark['created']) =>
    writeFileSync(draft, JSON.stringify({ log, serial, created } satisfies Mark));
  try {
    rmSync(draft, { force: true });
    writeFileSync(draft, '', { mode: 0o600 });
    const { birthtimeMs } = statSync(draft);
    write(birthtimeMs);
    // Some file systems give the time of the last change instead.
    if (statSync(draft).birthtimeMs !== birthtimeMs) write(null);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** Its presence says that the database has had a mark. `offset` is the last one that the former epoch's log shares. */
export const formerSchema =
  'CREATE TABLE IF NOT EXISTS former (conversation INTEGER PRIMARY KEY, epoch TEXT NOT NULL, offset INTEGER NOT NULL)';
const isThere = "SELECT 1 AS found FROM sqlite_master WHERE name = 'former'";
export const newestSerial = "SELECT seq AS serial FROM sqlite_sequence WHERE name = 'messages'";

/**
 * Gives a restored or copied database new epochs, and a database without a mark its first one. Runs inside a transaction
 * that the caller begins and commits.
 *
 * @returns whether messages are lost: those that are newer than a restored database, or all if it was removed
 */
export async function checkMark(database: string, writer: Writer, isNew: boolean): Promise<boolean> {
  const get = async (sql: string) => (await writer.prepare(sql)).get([]);
  const isFirst = (await get(isThere)) === undefined;
  if (isFirst) await writer.exec(formerSchema);
  const { serial = 0 } = ((await get(newestSerial)) ?? {}) as { serial?: number };
  const { id } = (await get('SELECT id FROM log')) as { id: string };
  if (isNew || isFirst) {
    const wasRemoved = isNew && existsSync(markOf(database));
    writeMark(database, id, serial);
    return wasRemoved;
  }
  if (isMarked(database, id, serial)) return false;
  writeMark(database, await renewEpochs(writer), serial);
  return true;
}

/** @returns the new name of the log */
async function renewEpochs(writer: Writer): Promise<string> {
  const log = freshEpoch();
  await writer.exec(`
    DELETE FROM former;
    INSERT INTO former SELECT id, epoch, offset FROM conversations;
    UPDATE conversations SET epoch = lower(hex(randomblob(9)));
  `);
  (await writer.prepare('UPDATE log SET id = ?')).run([log]);
  (await writer.prepare('UPDATE seed SET value = ?')).run([freshEpoch()]);
  return log;
}

/** How often the mark is written while messages are stored, in ms. */
const INTERVAL_MS = 1000;

/** Keeps the mark of a database up to date; see `mark.ts`. */
export class MarkWriter {
  private timer: NodeJS.Timeout | undefined;
  private readonly identity: string | undefined;
  /** Whether the file is no longer the one that is open: it was removed or replaced, and what is written is lost. */
  private isReplaced = false;

  /**
   * @param newest returns the newest serial number that is committed
   * @param onReplaced called once the file is found to be another one
   */
  constructor(
    private readonly database: string,
    private readonly log: string,
    private readonly newest: () => number,
    private readonly onReplaced: () => void,
  ) {
    this.identity = identityOf(database);
  }

  /** Messages were committed. */
  committed(): void {
    this.timer ??= setTimeout(() => this.write(), INTERVAL_MS).unref();
  }

  /** @throws HistoryError if the file was found to be another one */
  check(): void {
    if (!this.isReplaced) return;
    const reason = `${basename(this.database)} was removed or replaced while it was open; restart the server`;
    throw new HistoryError('HISTORY_REFUSED', new Error(reason));
  }

  close(): void {
    if (this.timer) this.write();
  }

  private write(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.isReplaced || identityOf(this.database) !== this.identity) {
      // The mark is the other file's.
      if (!this.isReplaced) this.onReplaced();
      this.isReplaced = true;
      return;
    }
    try {
      writeMark(this.database, this.log, this.newest());
    } catch {
      // The disk is full, for example. An older mark only finds fewer restores.
    }
  }
}
