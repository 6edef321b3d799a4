import { freshEpoch } from '../epoch.js';
import { prepareAll, type Statements, type Writer } from './connection.js';

/**
 * The seed that the epochs of new conversations are made from, and the newest conversation that is older than the seed.
 */
const seedSchema = 'CREATE TABLE IF NOT EXISTS seed (value TEXT NOT NULL, since INTEGER NOT NULL)';

const idle = 'SELECT id FROM conversations WHERE oldest IS NULL AND touched < ? ORDER BY touched LIMIT ?';
const statements = {
  seed: 'SELECT value, since FROM seed',
  renew: "UPDATE seed SET value = ?, since = (SELECT seq FROM sqlite_sequence WHERE name = 'conversations')",
  newest: `SELECT MAX(id) AS newest FROM (${idle})`,
  forget: `DELETE FROM conversations WHERE id IN (${idle})`,
  surplus: 'SELECT touched FROM conversations WHERE oldest IS NULL ORDER BY touched DESC LIMIT 1 OFFSET ?',
} as const;

/** Creates the seed of a file that has none yet, inside a transaction. */
export async function createSeed(writer: Writer): Promise<void> {
  await writer.exec(seedSchema);
  if ((await writer.prepare('SELECT value FROM seed')).get([])) return;
  (await writer.prepare('INSERT INTO seed VALUES (?, 0)')).run([freshEpoch()]);
}

/**
 * Forgets empty conversations, inside a transaction that the caller begins and commits. Offsets of a forgotten one begin
 * at 1 again, so its epoch must not be used again: if it was made from the present seed, there is a new seed.
 */
export class Forgetter {
  private constructor(private readonly sql: Statements<keyof typeof statements>) {}

  static async prepare(writer: Writer): Promise<Forgetter> {
    return new Forgetter(await prepareAll(writer, statements));
  }

  get seed(): string {
    return this.row.value;
  }

  /** @returns how many were forgotten */
  forget(touchedBefore: number, limit: number): number {
    const { newest } = this.sql.newest.get([touchedBefore, limit]) as { newest: number | null };
    if (newest === null) return 0;
    if (newest > this.row.since) this.sql.renew.run([freshEpoch()]);
    return (this.sql.forget.run([touchedBefore, limit]) as { changes: number }).changes;
  }

  /** Forgets those that have been empty for longest, all but `keep`. */
  forgetSurplus(keep: number, limit: number): number {
    const surplus = this.sql.surplus.get([keep]) as { touched: number } | undefined;
    return surplus ? this.forget(surplus.touched + 1, limit) : 0;
  }

  private get row(): { value: string; since: number } {
    return this.sql.seed.get([]) as { value: string; since: number };
  }
}
