import { basename } from 'node:path';
import { HistoryError } from '../errors.js';
import { identityOf, writeMark } from './mark.js';

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
