import type { Knex } from 'knex';
import type { Change } from '../store.js';
import type { ArchivedPlace } from './erase.js';
import { decode, encode, type LogRow, type MessageRow, tables } from './schema.js';

/** Which messages to look for. */
export interface Search {
  /** Those of this author. */
  author: string;
  /** All those of conversations with such a name, by any author. */
  isOwn?(conversation: string): boolean;
}

/** A message of the archive. */
export type ArchivedMessage = Change & ArchivedPlace;

/** How many conversations, and messages, one query reads. */
const LOGS = 200;
const MESSAGES = 500;

/** Finds messages in the whole archive, in pages, conversation by conversation. The memory that it takes is bounded. */
export async function* walkArchive(
  knex: Knex,
  { author, isOwn = () => false }: Search,
): AsyncGenerator<ArchivedMessage[]> {
  const sender = encode(author);
  for (let lastLog = 0; ; ) {
    const logs: LogRow[] = await knex<LogRow>(tables.logs).where('id', '>', lastLog).orderBy('id').limit(LOGS);
    const ids = logs.map(({ id }) => id);
    const written = await knex<MessageRow>(tables.messages).whereIn('log', ids).where({ sender }).distinct('log');
    const withAuthor = new Set(written.map(({ log }) => Number(log)));
    for (const log of logs) {
      const conversation = decode(log.conversation);
      const isAll = isOwn(conversation);
      if (!isAll && !withAuthor.has(Number(log.id))) continue;
      yield* pagesOf(knex, log, conversation, isAll ? {} : { sender });
    }
    const last = logs.at(-1);
    if (!last) return;
    lastLog = Number(last.id);
  }
}

async function* pagesOf(knex: Knex, log: LogRow, conversation: string, where: { sender?: string }) {
  for (let after = 0; ; ) {
    const rows = await knex<MessageRow>(tables.messages)
      .where({ log: log.id, ...where })
      .where('offset', '>', after)
      .orderBy('offset')
      .limit(MESSAGES);
    if (rows.length === 0) return;
    after = Number(rows.at(-1)!.offset);
    yield rows.map(
      (row): ArchivedMessage => ({
        conversation,
        epoch: log.epoch,
        log: Number(log.id),
        offset: Number(row.offset),
        from: decode(row.sender),
        text: decode(row.text),
        at: Number(row.said_at),
      }),
    );
  }
}
