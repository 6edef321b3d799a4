import type { Knex } from 'knex';
import { isForwards, OVERHEAD_BYTES } from '../page.js';
import { MAX_PAGE_BYTES, type PageQuery, type Position, type StoredMessage } from '../store.js';
import { decode, type LogRow, type MessageRow, tables } from './schema.js';

/** A range of offsets, both ends included, and the log that has them. */
export interface Segment {
  log: number;
  from: number;
  to: number;
}

/** A page of the archive; `isCut` says that it ends early because of {@link MAX_PAGE_BYTES}. */
export interface ArchivePage extends Position {
  messages: StoredMessage[];
  isCut: boolean;
}

/** Pages through a conversation, from the log of one epoch into the logs that it has continued. */
export async function readArchive(knex: Knex, conversationHash: string, query: PageQuery): Promise<ArchivePage> {
  const { epoch, after, before, limit } = query;
  const logs = await logsOf(knex, conversationHash);
  const log = epoch === undefined ? logs[0] : logs.find((one) => one.epoch === epoch);
  if (!log) return { epoch: epoch ?? '', offset: 0, messages: [], isCut: false };

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
    const count = countThatFits(sizes, left, rows.length === 0);
    isCut = count < sizes.length;
    if (count === 0) continue;
    rows.push(...(await select(knex, { ...range, limit: count })));
    left -= sizes.slice(0, count).reduce((sum, size) => sum + size, 0);
  }
  const messages = (forwards ? rows : rows.reverse()).map((row) => messageOf(row, log.epoch));
  return { epoch: log.epoch, offset: Number(log.last_offset), messages, isCut };
}

/** The logs of a conversation, newest first. */
export function logsOf(knex: Knex, conversationHash: string): Promise<LogRow[]> {
  return knex<LogRow>(tables.logs).where('conversation_hash', conversationHash).orderBy('id', 'desc') as Promise<
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

function countThatFits(sizes: readonly number[], bytes: number, isFirst: boolean): number {
  let left = bytes;
  const end = sizes.findIndex((size, index) => {
    left -= size;
    return left < 0 && !(isFirst && index === 0);
  });
  return end < 0 ? sizes.length : end;
}

/** Newest first. A log that continues another one leaves the offsets before that point to the other. */
export function segmentsOf(newest: LogRow, logs: readonly LogRow[]): Segment[] {
  const segments: Segment[] = [];
  let to = Number(newest.last_offset);
  for (let log: LogRow | undefined = newest; log && segments.length <= logs.length; ) {
    const former: string | null = log.follows_epoch;
    const end = Number(log.follows_offset ?? 0);
    segments.push({ log: Number(log.id), from: end + 1, to });
    to = Math.min(to, end);
    log = logs.find(({ epoch }) => epoch === former);
  }
  return segments;
}

function messageOf(row: MessageRow, epoch: string): StoredMessage {
  // Some drivers return 64-bit integers as strings.
  const [offset, at] = [Number(row.offset), Number(row.said_at)];
  return { from: decode(row.sender), text: decode(row.text), at, epoch, offset };
}
