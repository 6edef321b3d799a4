import { OVERHEAD_BYTES } from '../page.js';
import { prepareAll, type Statements, type Writer } from './connection.js';
import type { Forgetter } from './seed.js';

/** How many messages are removed by one statement. */
const CHUNK = 500;
/** How long one transaction may trim. The next ones do the rest: within that time each frees more than it adds. */
const MAX_TRIM_MS = 20;
/** How many empty conversations a full file remembers. */
const MAX_EMPTY = 10_000;
/** Empty conversations are counted once in this number of transactions. */
const EMPTY_EVERY = 16;

/** The bytes of the file that are in use. */
export const liveBytes = `SELECT (p.page_count - f.freelist_count) * s.page_size AS bytes
  FROM pragma_page_count() p, pragma_freelist_count() f, pragma_page_size() s`;

const statements = {
  live: liveBytes,
  // The oldest messages that together have this number of bytes, or the oldest one.
  oldest: `SELECT MAX(serial) AS serial, MAX(at) AS at, COUNT(*) AS count FROM (
    SELECT serial, at, size, SUM(size) OVER (ORDER BY serial) AS bytes FROM (
      SELECT serial, at, octet_length(sender) + octet_length(text) + ${OVERHEAD_BYTES} AS size
        FROM messages ORDER BY serial LIMIT ${CHUNK}
    )
  ) WHERE bytes - size < ?`,
  shorten: `WITH gone AS (SELECT conversation, MAX(offset) + 1 AS next FROM messages WHERE serial <= ? GROUP BY conversation)
    UPDATE conversations SET first = gone.next,
      oldest = (SELECT at FROM messages WHERE messages.conversation = gone.conversation AND offset = gone.next)
    FROM gone WHERE conversations.id = gone.conversation`,
  drop: 'DELETE FROM messages WHERE serial <= ?',
  dropKeys: `DELETE FROM keys WHERE (conversation, key) IN
    (SELECT conversation, key FROM keys WHERE at <= ? ORDER BY at LIMIT ${CHUNK})`,
} as const;

/**
 * Holds the file to a size: removes the oldest messages of all conversations, inside a transaction that the caller
 * begins and commits. Pages that become free are used again, so the file itself does not grow beyond the size.
 */
export class SizeLimit {
  private turns = 0;

  private constructor(
    private readonly sql: Statements<keyof typeof statements>,
    private readonly forgetter: Forgetter,
    private readonly maxBytes: number,
  ) {}

  static async prepare(writer: Writer, forgetter: Forgetter, maxBytes = Infinity): Promise<SizeLimit> {
    return new SizeLimit(await prepareAll(writer, statements), forgetter, maxBytes);
  }

  /** @returns how many messages were removed, and whether the file is still too large */
  trim(): { removed: number; more: boolean } {
    if (this.maxBytes === Infinity) return { removed: 0, more: false };
    const start = performance.now();
    let removed = 0;
    for (;;) {
      const excess = this.liveBytes() - this.maxBytes;
      if (excess <= 0) return { removed, more: false };
      const count = this.removeOldest(excess);
      removed += count;
      const forgotten = this.turns++ % EMPTY_EVERY === 0 ? this.forgetter.forgetSurplus(MAX_EMPTY, CHUNK) : 0;
      if (count + forgotten === 0) return { removed, more: false };
      if (performance.now() - start > MAX_TRIM_MS) return { removed, more: true };
    }
  }

  private liveBytes(): number {
    return (this.sql.live.get([]) as { bytes: number }).bytes;
  }

  private removeOldest(bytes: number): number {
    const { serial, at, count } = this.sql.oldest.get([bytes]) as { serial: number | null; at: number; count: number };
    if (serial === null) return 0;
    this.sql.shorten.run([serial]);
    this.sql.drop.run([serial]);
    // A repetition of what is gone could not be told from another message anyway.
    this.sql.dropKeys.run([at]);
    return count;
  }
}
