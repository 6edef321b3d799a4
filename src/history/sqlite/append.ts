import { epochFrom } from '../epoch.js';
import type { AppendJob } from '../input.js';
import { type AppendResult, earlierResults, type NewMessage } from '../store.js';
import { encodeText, prepareAll, type Statements, type Writer } from './connection.js';
import type { Forgetter } from './seed.js';

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
