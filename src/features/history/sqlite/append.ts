import type { AppendJob } from '../checked-store.js';
import { type AppendResult, earlierResults, epochFrom, freshEpoch, type NewMessage } from '../store.js';
import { encodeText, prepareAll, type Statements, type Writer } from './connection.js';

/**
 * The seed that the epochs of new conversations are made from, and the newest conversation that is older than the seed.
 */
const seedSchema = 'CREATE TABLE IF NOT EXISTS seed (value TEXT NOT NULL, since INTEGER NOT NULL)';

const idle = 'SELECT id FROM conversations WHERE oldest IS NULL AND touched < ? ORDER BY touched LIMIT ?';
const seedStatements = {
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
  private constructor(private readonly sql: Statements<keyof typeof seedStatements>) {}

  static async prepare(writer: Writer): Promise<Forgetter> {
    return new Forgetter(await prepareAll(writer, seedStatements));
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

interface ConversationRow {
  id: number;
  epoch: string;
  offset: number;
  first: number;
  oldest: number | null;
}

const statements = {
  find: 'SELECT id, epoch, offset, first, oldest FROM conversations WHERE name = ?',
  create: 'INSERT INTO conversations (name, epoch, offset, first, oldest, touched) VALUES (?, ?, 0, 1, NULL, ?)',
  insert: 'INSERT INTO messages (conversation, offset, at, sender, text) VALUES (?, ?, ?, ?, ?)',
  findKey: 'SELECT offset FROM keys WHERE conversation = ? AND key = ?',
  insertKey: 'INSERT INTO keys (conversation, key, offset, at) VALUES (?, ?, ?, ?)',
  drop: 'DELETE FROM messages WHERE conversation = ? AND offset < ?',
  atOf: 'SELECT at FROM messages WHERE conversation = ? AND offset = ?',
  update: 'UPDATE conversations SET offset = ?, first = ?, oldest = ?, touched = ? WHERE id = ?',
} as const;

/**
 * Appends inside a transaction that the caller begins and commits: any number of `append`, then `finish`; or `forget`
 * when it is rolled back.
 */
export class Appender {
  /** A row is looked up and written once, however many of the transaction's jobs are for its conversation. */
  private readonly rows = new Map<string, ConversationRow>();

  private constructor(
    private readonly sql: Statements<keyof typeof statements>,
    private readonly forgetter: Forgetter,
    private readonly maxMessages: number,
  ) {}

  static async prepare(writer: Writer, forgetter: Forgetter, maxMessages: number): Promise<Appender> {
    return new Appender(await prepareAll(writer, statements), forgetter, maxMessages);
  }

  /** @returns results that are good once the transaction is committed */
  append({ conversation, messages, key }: AppendJob): AppendResult[] {
    let row = this.rows.get(conversation);
    if (!row) {
      row = this.open(conversation);
      this.rows.set(conversation, row);
    }
    const { epoch } = row;
    const encodedKey = key === undefined ? undefined : encodeText(key);
    const earlier = encodedKey && (this.sql.findKey.get([row.id, encodedKey]) as { offset: number } | undefined);
    if (earlier) return earlierResults(epoch, earlier.offset, messages.length);
    const results = messages.map((message) => ({ epoch, offset: this.keep(row, message) }));
    if (encodedKey) this.sql.insertKey.run([row.id, encodedKey, row.offset, messages.at(-1)!.at]);
    return results;
  }

  finish(): void {
    for (const row of this.rows.values()) this.update(row);
    this.forget();
  }

  forget(): void {
    this.rows.clear();
  }

  private open(conversation: string): ConversationRow {
    const name = encodeText(conversation);
    const found = this.sql.find.get([name]) as ConversationRow | undefined;
    if (found) return found;
    this.sql.create.run([name, epochFrom(this.forgetter.seed, conversation), Date.now()]);
    return this.sql.find.get([name]) as ConversationRow;
  }

  private keep(row: ConversationRow, message: NewMessage): number {
    row.offset++;
    row.oldest ??= message.at;
    this.sql.insert.run([row.id, row.offset, message.at, encodeText(message.from), encodeText(message.text)]);
    return row.offset;
  }

  private update(row: ConversationRow): void {
    const first = row.offset - this.maxMessages + 1;
    if (row.first < first) {
      row.first = first;
      this.sql.drop.run([row.id, first]);
      row.oldest = (this.sql.atOf.get([row.id, first]) as { at: number }).at;
    }
    this.sql.update.run([row.offset, row.first, row.oldest, Date.now(), row.id]);
  }
}
