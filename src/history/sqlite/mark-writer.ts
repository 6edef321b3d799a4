import { writeMark } from './mark.js';

/** How often the mark is written while messages are stored, in ms. */
const INTERVAL_MS = 1000;

/** Keeps the mark of a database up to date; see `mark.ts`. */
export class MarkWriter {
  private timer: NodeJS.Timeout | undefined;

  /** @param newest returns the newest serial number that is committed */
  constructor(
    private readonly database: string,
    private readonly log: string,
    private readonly newest: () => number,
  ) {}

  /** Messages were committed. */
  committed(): void {
    this.timer ??= setTimeout(() => this.write(), INTERVAL_MS).unref();
  }

  close(): void {
    if (this.timer) this.write();
  }

  private write(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    try {
      writeMark(this.database, this.log, this.newest());
    } catch {
      // The disk is full, for example. An older mark only finds fewer restores.
    }
  }
}
