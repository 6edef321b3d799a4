import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { type ArchivePage, fitting, isForwards, OVERHEAD_BYTES } from '../page.js';
import { MAX_PAGE_BYTES, type PageQuery, type Position, type StoredMessage } from '../store.js';
import { decode, encode, type LogRow, type MessageRow, type StateRow, tables } from './database.js';
import type { ArchivedMessage, ArchivedPlace, Search } from './search.js';

/** A range of offsets, both ends included, and the log that has them. */
export interface Segment {
  log: number;
  from: number;
  to: number;
}

/** Pages through a conversation, from the log of the message before which it reads into the logs that this one has continued. */
export async function readArchive(knex: Knex, conversationHash: string, query: PageQuery): Promise<ArchivePage> {
  const { tag, after, before, limit } = query;
  const logs = await logsOf(knex, conversationHash);
  const named = tag && before ? await logWith(knex, logs, { offset: before, tag }) : undefined;
  const log = named ?? logs[0];
  if (!log) return { messages: [], isCut: false };

  const forwards = isForwards(query);
  const segments = segmentsOf(log, logs);
  const rows: MessageRow[] = [];
  let left = MAX_PAGE_BYTES;
  let isCut = false;
  for (const segment of forwards ? segments.reverse() : segments) {
    const from = Math.max(segment.from, (after ?? 0) + 1);
    const to = Math.min(segment.to, (before ?? Number.POSITIVE_INFINITY) - 1);
    if (from > to || rows.length === limit || isCut) continue;
    const range = { log: segment.log, from, to, forwards, limit: limit - rows.length };
    // The lengths first: what does not fit into the page stays in the database.
    const sizes = await sizesIn(knex, range);
    // The first message of the page, however large it is.
    const count = rows.length > 0 && sizes[0]! > left ? 0 : fitting(sizes, left, (size) => size).length;
    isCut = count < sizes.length;
    if (count === 0) continue;
    rows.push(...(await select(knex, { ...range, limit: count })));
    left -= sizes.slice(0, count).reduce((sum, size) => sum + size, 0);
  }
  return { messages: (forwards ? rows : rows.reverse()).map(messageOf), isCut };
}

/** The log that has a message. */
export async function logWith(
  knex: Knex,
  logs: readonly LogRow[],
  { offset, tag }: Position,
): Promise<LogRow | undefined> {
  const ids = logs.map(({ id }) => id);
  const row = await knex<MessageRow>(tables.messages).whereIn('log', ids).where({ offset, tag }).first();
  return row && logs.find(({ id }) => Number(id) === Number(row.log));
}

/** The logs of a conversation, that with the newest message first. */
export function logsOf(knex: Knex, conversationHash: string): Promise<LogRow[]> {
  return knex<LogRow>(tables.logs).where('conversation_hash', conversationHash).orderBy('last_tag', 'desc') as Promise<
    LogRow[]
  >;
}

interface Range extends Segment {
  forwards: boolean;
  limit: number;
}

function select(knex: Knex, { log, from, to, forwards, limit }: Range) {
  return knex<MessageRow>(tables.messages)
    .where('log', log)
    .whereBetween('offset', [from, to])
    .orderBy('offset', forwards ? 'asc' : 'desc')
    .limit(limit);
}

async function sizesIn(knex: Knex, range: Range): Promise<number[]> {
  const length = knex.raw('OCTET_LENGTH(??) + OCTET_LENGTH(??) AS size', ['sender', 'text']);
  const rows = (await select(knex, range).select(length)) as unknown as { size: number | string }[];
  return rows.map(({ size }) => OVERHEAD_BYTES + Number(size));
}

/** Newest first. A log that continues another one leaves the offsets before that point to the other, if the archive has it. */
export function segmentsOf(newest: LogRow, logs: readonly LogRow[]): Segment[] {
  const segments: Segment[] = [];
  let to = Number(newest.last_offset);
  for (let log: LogRow | undefined = newest; log && segments.length <= logs.length; ) {
    const { follows }: LogRow = log;
    const next: LogRow | undefined = logs.find(({ id }) => follows !== null && Number(id) === Number(follows));
    const end = next ? Number(log.follows_offset) : 0;
    segments.push({ log: Number(log.id), from: end + 1, to });
    to = Math.min(to, end);
    log = next;
  }
  return segments;
}

function messageOf({ sender, text, said_at, offset, tag }: MessageRow): StoredMessage {
  // Some drivers return 64-bit integers as strings.
  const numbers = { at: Number(said_at), offset: Number(offset), tag: Number(tag) };
  return { from: decode(sender), text: decode(text), ...numbers };
}

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
    yield rows.map((row): ArchivedMessage => ({ conversation, log: Number(log.id), ...messageOf(row) }));
  }
}

/** The offsets of one statement. */
const RANGE = 5000;

/**
 * Makes a batch that an archiver has read from the history, and not written yet, a conflict: it may have texts that are
 * erased there meanwhile. The archiver then reads the batch again.
 */
export async function rejectBatchesInFlight(knex: Knex): Promise<void> {
  await knex.transaction(async (trx) => {
    // The lock that a writer takes first.
    await trx<StateRow>(tables.state).where('name', 'cursor').update({ until: 0 });
    await trx<StateRow>(tables.state)
      .where('name', 'erasures')
      .update({ value: randomBytes(9).toString('hex') });
  });
}

/** Erases messages of a conversation, in all its logs. */
export async function eraseMessages(knex: Knex, hash: string, places: readonly Position[]): Promise<number> {
  const logs = (await logsOf(knex, hash)).map(({ id }) => id);
  const pairs = places.map(({ offset, tag }) => [offset, tag]);
  return withText(knex).whereIn('log', logs).whereIn(['offset', 'tag'], pairs).update({ sender: '', text: '' });
}

/** Erases all messages of a conversation, in all its logs. */
export async function eraseConversation(knex: Knex, hash: string): Promise<number> {
  const logs = await logsOf(knex, hash);
  // A log may have messages of the one that continues it.
  const end = Math.max(0, ...logs.map(({ last_offset }) => Number(last_offset)));
  let erased = 0;
  for (let from = 1; from <= end; from += RANGE) {
    const rows = withText(knex).whereIn(
      'log',
      logs.map(({ id }) => id),
    );
    erased += await rows.whereBetween('offset', [from, from + RANGE - 1]).update({ sender: '', text: '' });
  }
  return erased;
}

/** Erases messages by their places. */
export async function erasePlaces(knex: Knex, places: readonly ArchivedPlace[]): Promise<number> {
  const byLog = new Map<number, number[]>();
  for (const { log, offset } of places) byLog.set(log, [...(byLog.get(log) ?? []), offset]);
  let erased = 0;
  for (const [log, offsets] of byLog) {
    erased += await withText(knex).where('log', log).whereIn('offset', offsets).update({ sender: '', text: '' });
  }
  return erased;
}

const withText = (knex: Knex) =>
  knex<MessageRow>(tables.messages).where((row) => row.where('sender', '<>', '').orWhere('text', '<>', ''));
