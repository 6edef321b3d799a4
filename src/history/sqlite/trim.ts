import { prepareAll, type Statements, type Writer } from './connection.js';
import type { Forgetter } from './seed.js';

/** How many rows one transaction removes: about a millisecond, in which no other process can write. */
const CHUNK = 500;

const statements = {
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
  private constructor(
    private readonly sql: Statements<keyof typeof statements>,
    private readonly forgetter: Forgetter,
  ) {}

  static async prepare(writer: Writer, forgetter: Forgetter): Promise<Trimmer> {
    return new Trimmer(await prepareAll(writer, statements), forgetter);
  }

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
