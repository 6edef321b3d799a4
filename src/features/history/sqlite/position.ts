import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { replaceFile } from '../files.js';
import { HistoryError } from '../store.js';
import type { ReadStatement, WriteConnection } from './connection.js';

/**
 * The last message of the database, in a small file beside it. It is a reader's position: a database that does not have that
 * message is an older one, or a new one. A database with messages but without the file was restored or copied.
 */
interface LastMessage {
  /** 0 if there is none. */
  serial: number;
  tag: number;
}

export const positionFileOf = (database: string): string => `${database}-position`;

/** What a database says of a message: `serial` is the number of the newest one, and `tag` is null if the message was removed. */
export const lookup = `SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'messages') AS serial,
  (SELECT tag FROM messages WHERE serial = ?) AS tag`;
export interface Lookup {
  serial: number | null;
  tag: number | null;
}

const newest = 'SELECT serial, tag FROM messages ORDER BY serial DESC LIMIT 1';

function readPosition(database: string): LastMessage | undefined {
  try {
    return JSON.parse(readFileSync(positionFileOf(database), 'utf8')) as LastMessage;
  } catch {
    return undefined;
  }
}

const writePosition = (database: string, last: LastMessage) =>
  replaceFile(positionFileOf(database), JSON.stringify(last));

/**
 * Whether a database has the last message that it had before. Call it inside a transaction. The position is then that of the
 * database, so that only one caller finds a loss.
 */
export async function hasPosition(database: string, writer: WriteConnection): Promise<boolean> {
  const last = readPosition(database);
  const found = (await writer.prepare(lookup)).get([last?.serial ?? 0]) as Lookup;
  const serial = found.serial ?? 0;
  const isThere = last ? serial >= last.serial && (found.tag ?? last.tag) === last.tag : serial === 0;
  if (!last || !isThere) {
    const present = (await writer.prepare(newest)).get([]) as LastMessage | undefined;
    writePosition(database, present ?? { serial: 0, tag: 0 });
  }
  return isThere;
}

/** How often the position is written while messages are stored, in ms. */
const INTERVAL_MS = 1000;

/** The identity of a file, which a file that takes its place does not have; undefined if there is none. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/** Keeps the position of a database up to date, and notices that its file is another one. */
export class PositionWriter {
  private timer: NodeJS.Timeout | undefined;
  private readonly identity: string | undefined;
  /** Whether the file is no longer the one that is open: it was removed or replaced, and what is written is lost. */
  private isReplaced = false;

  /** @param onReplaced called once the file is found to be another one */
  constructor(
    private readonly database: string,
    private readonly newest: ReadStatement,
    private readonly onReplaced: () => void,
  ) {
    this.identity = identityOf(database);
  }

  static readonly query = newest;

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
      // The position is the other file's.
      if (!this.isReplaced) this.onReplaced();
      this.isReplaced = true;
      return;
    }
    try {
      const [last] = this.newest.all([]) as LastMessage[];
      if (last) writePosition(this.database, last);
    } catch {
      // The disk is full, for example. An older position only finds fewer losses.
    }
  }
}
