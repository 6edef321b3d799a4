import type { EraseJob } from '../checked-store.js';
import { encodeText, prepareAll, type Statements, type Writer } from './connection.js';

const statements = {
  find: 'SELECT id FROM conversations WHERE name = ? AND epoch = ?',
  erase: `UPDATE messages SET sender = '', text = ''
    WHERE conversation = ? AND offset = ? AND (sender <> '' OR text <> '')`,
} as const;

/** Erases messages inside a transaction that the caller begins and commits. */
export class Eraser {
  private constructor(private readonly sql: Statements<keyof typeof statements>) {}

  static async prepare(writer: Writer): Promise<Eraser> {
    return new Eraser(await prepareAll(writer, statements));
  }

  /** @returns how many messages had an author or a text */
  erase({ conversation, epoch, offsets }: EraseJob): number {
    const found = this.sql.find.get([encodeText(conversation), epoch]) as { id: number } | undefined;
    if (!found) return 0;
    let erased = 0;
    for (const offset of offsets) erased += (this.sql.erase.run([found.id, offset]) as { changes: number }).changes;
    return erased;
  }
}
