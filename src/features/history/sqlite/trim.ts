import { OVERHEAD_BYTES } from '../page.js';
import type { Forgetter } from './append.js';
import type { Statements } from './connection.js';

/** How many rows one transaction removes: about a millisecond, in which no other process can write. */
const CHUNK = 500;

export const trimStatements = {
  due: 'SELECT id, offset, first FROM conversations WHERE oldest < ? ORDER BY oldest LIMIT 1',
  keep: 'SELECT offset, at FROM messages WHERE conversation = ? AND offset >= ? AND offset < ? AND at >= ? ORDER BY offset LIMIT 1',
  next: 'SELECT offset, at FROM messages WHERE conversation = ? AND offset >= ? ORDER BY offset LIMIT 1',
  drop: 'DELETE FROM messages WHERE conversation = ? AND offset < ?',
  update: 'UPDATE conversations SET first = ?, oldest = ? WHERE id = ?',
  dropKeys:
    'DELETE FROM keys WHERE (conversation, key) IN (SELECT conversation, key FROM keys WHERE at < ? ORDER BY at LIMIT ?)',
} as const;

export interface TrimJob {
  /** Older messages are removed. */
  horizon: number;
  /** Conversations that are empty, and untouched since then, are forgotten. */
  forgetBefore: number;
}

export interface TrimOutcome {
  removed: number;
  /** Whether there may be more to do. */
  more: boolean;
}

/** Removes what is too old, a chunk per call, inside a transaction that the caller begins and commits. */
export class Trimmer {
  constructor(
    private readonly sql: Statements<typeof trimStatements>,
    private readonly forgetter: Forgetter,
  ) {}

  chunk({ horizon, forgetBefore }: TrimJob): TrimOutcome {
    let removed = 0;
    for (let rounds = 0; rounds < 20 && removed < CHUNK; rounds++) {
      const due = this.sql.due.get([horizon]) as { id: number; offset: number; first: number } | undefined;
      if (!due) return { removed, more: this.rest(horizon, forgetBefore) };
      removed += this.shorten(due, horizon);
    }
    return { removed, more: true };
  }

  private shorten({ id, offset, first }: { id: number; offset: number; first: number }, horizon: number): number {
    type Kept = { offset: number; at: number } | undefined;
    const end = Math.min(first + CHUNK, offset + 1);
    const kept = (this.sql.keep.get([id, first, end, horizon]) ?? this.sql.next.get([id, end])) as Kept;
    const next = kept?.offset ?? offset + 1;
    if (next > first) this.sql.drop.run([id, next]);
    this.sql.update.run([next, kept?.at ?? null, id]);
    return next - first;
  }

  private rest(horizon: number, forgetBefore: number): boolean {
    const keys = this.sql.dropKeys.run([horizon, CHUNK]) as { changes: number };
    const forgotten = this.forgetter.forget(forgetBefore, CHUNK);
    return keys.changes === CHUNK || forgotten === CHUNK;
  }
}

/** How many messages are removed by one statement. */
const MAX_ROWS = 500;
/** How long one transaction may trim. The next ones do the rest: within that time each frees more than it adds. */
const MAX_TRIM_MS = 20;
/** How many empty conversations a full file remembers. */
const MAX_EMPTY = 10_000;
/** Empty conversations are counted once in this number of transactions. */
const EMPTY_EVERY = 16;

/** The bytes of the file that are in use. */
export const liveBytes = `SELECT (p.page_count - f.freelist_count) * s.page_size AS bytes
  FROM pragma_page_count() p, pragma_freelist_count() f, pragma_page_size() s`;

export const sizeStatements = {
  live: liveBytes,
  // The oldest messages that together have this number of bytes, or the oldest one.
  oldest: `SELECT MAX(serial) AS serial, MAX(at) AS at, COUNT(*) AS count FROM (
    SELECT serial, at, size, SUM(size) OVER (ORDER BY serial) AS bytes FROM (
      SELECT serial, at, octet_length(sender) + octet_length(text) + ${OVERHEAD_BYTES} AS size
        FROM messages ORDER BY serial LIMIT ${MAX_ROWS}
    )
  ) WHERE bytes - size < ?`,
  shorten: `WITH gone AS (SELECT conversation, MAX(offset) + 1 AS next FROM messages WHERE serial <= ? GROUP BY conversation)
    UPDATE conversations SET first = gone.next,
      oldest = (SELECT at FROM messages WHERE messages.conversation = gone.conversation AND offset = gone.next)
    FROM gone WHERE conversations.id = gone.conversation`,
  drop: 'DELETE FROM messages WHERE serial <= ?',
  dropKeys: `DELETE FROM keys WHERE (conversation, key) IN
    (SELECT conversation, key FROM keys WHERE at <= ? ORDER BY at LIMIT ${MAX_ROWS})`,
} as const;

/**
 * Holds the file to a size: removes the oldest messages of all conversations, inside a transaction that the caller
 * begins and commits. Pages that become free are used again, so the file itself does not grow beyond the size.
 */
export class SizeLimit {
  private turns = 0;

  constructor(
    private readonly sql: Statements<typeof sizeStatements>,
    private readonly forgetter: Forgetter,
    private readonly maxBytes = Infinity,
  ) {}

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
      const forgotten = this.turns++ % EMPTY_EVERY === 0 ? this.forgetter.forgetSurplus(MAX_EMPTY, MAX_ROWS) : 0;
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
