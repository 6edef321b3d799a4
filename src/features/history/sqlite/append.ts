import type { AppendJob, EraseJob } from '../checked-store.js';
import { type AppendResult, type Position, resultsOf } from '../store.js';
import { takeTags } from '../tags.js';
import { encodeText, type Statements } from './connection.js';

const idle = 'SELECT id FROM conversations WHERE oldest IS NULL AND touched < ? ORDER BY touched LIMIT ?';
export const forgetStatements = {
  forget: `DELETE FROM conversations WHERE id IN (${idle})`,
  surplus: 'SELECT touched FROM conversations WHERE oldest IS NULL ORDER BY touched DESC LIMIT 1 OFFSET ?',
} as const;

/** Forgets empty conversations, inside a transaction that the caller begins and commits. */
export class Forgetter {
  constructor(private readonly sql: Statements<typeof forgetStatements>) {}

  /** @returns how many were forgotten */
  forget(touchedBefore: number, limit: number): number {
    return (this.sql.forget.run([touchedBefore, limit]) as { changes: number }).changes;
  }

  /** Forgets those that have been empty for longest, all but `keep`. */
  forgetSurplus(keep: number, limit: number): number {
    const surplus = this.sql.surplus.get([keep]) as { touched: number } | undefined;
    return surplus ? this.forget(surplus.touched + 1, limit) : 0;
  }
}

interface ConversationRow {
  id: number;
  offset: number;
  tag: number;
  first: number;
  oldest: number | null;
}

export const appendStatements = {
  find: 'SELECT id, offset, tag, first, oldest FROM conversations WHERE name = ?',
  create: 'INSERT INTO conversations (name, offset, tag, first, oldest, touched) VALUES (?, 0, 0, 1, NULL, ?)',
  insert: 'INSERT INTO messages (conversation, offset, tag, before, at, sender, text) VALUES (?, ?, ?, ?, ?, ?, ?)',
  findKey: 'SELECT offset, tag FROM keys WHERE conversation = ? AND key = ?',
  insertKey: 'INSERT INTO keys (conversation, key, offset, tag, at) VALUES (?, ?, ?, ?, ?)',
  drop: 'DELETE FROM messages WHERE conversation = ? AND offset < ?',
  atOf: 'SELECT at FROM messages WHERE conversation = ? AND offset = ?',
  update: 'UPDATE conversations SET offset = ?, tag = ?, first = ?, oldest = ?, touched = ? WHERE id = ?',
  erase: `UPDATE messages SET sender = '', text = ''
    WHERE conversation = ? AND offset = ? AND tag = ? AND (sender <> '' OR text <> '')`,
} as const;

/**
 * Appends and erases inside a transaction that the caller begins and commits: any number of `append` and `erase`, then `finish`;
 * or `forget` when it is rolled back.
 */
export class Appender {
  /** A row is looked up and written once, however many of the transaction's jobs are for its conversation. */
  private readonly rows = new Map<string, ConversationRow>();

  constructor(
    private readonly sql: Statements<typeof appendStatements>,
    private readonly maxMessages: number,
  ) {}

  /** @returns results that are good once the transaction is committed */
  append({ conversation, messages, key }: AppendJob): AppendResult[] {
    let row = this.rows.get(conversation);
    if (!row) {
      row = this.open(conversation);
      this.rows.set(conversation, row);
    }
    const { length } = messages;
    const encodedKey = key === undefined ? undefined : encodeText(key);
    const earlier = encodedKey && (this.sql.findKey.get([row.id, encodedKey]) as Position | undefined);
    if (earlier) return resultsOf(earlier, length, 0, true);
    const before = row.tag;
    const tag = Math.max(takeTags(length), before + 1);
    for (const [index, { from, text, at }] of messages.entries()) {
      row.offset++;
      row.oldest ??= at;
      const names = [row.id, row.offset, tag + index, row.tag];
      row.tag = tag + index;
      this.sql.insert.run([...names, at, encodeText(from), encodeText(text)]);
    }
    if (encodedKey) this.sql.insertKey.run([row.id, encodedKey, row.offset, row.tag, Date.now()]);
    return resultsOf(row, length, before);
  }

  /** @returns how many messages had an author or a text */
  erase({ conversation, places }: EraseJob): number {
    const found = this.sql.find.get([encodeText(conversation)]) as ConversationRow | undefined;
    if (!found) return 0;
    let erased = 0;
    for (const { offset, tag } of places) {
      erased += (this.sql.erase.run([found.id, offset, tag]) as { changes: number }).changes;
    }
    return erased;
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
    this.sql.create.run([name, Date.now()]);
    return this.sql.find.get([name]) as ConversationRow;
  }

  private update(row: ConversationRow): void {
    const first = row.offset - this.maxMessages + 1;
    if (row.first < first) {
      row.first = first;
      this.sql.drop.run([row.id, first]);
      row.oldest = (this.sql.atOf.get([row.id, first]) as { at: number }).at;
    }
    this.sql.update.run([row.offset, row.tag, row.first, row.oldest, Date.now(), row.id]);
  }
}
