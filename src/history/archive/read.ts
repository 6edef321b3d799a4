import type { Knex } from 'knex';
import type { PageQuery, Position, StoredMessage } from '../store.js';
import { decode, type LogRow, type MessageRow, tables } from './schema.js';

/** A stretch of offsets, both ends included, and the log that has them. */
interface Segment {
  log: number;
  from: number;
  to: number;
}

/** Pages through a conversation, from the log of one epoch on into the logs that it has gone on from. */
export async function readArchive(
  knex: Knex,
  conversationHash: string,
  { epoch, after, before, limit }: PageQuery,
): Promise<Position & { messages: StoredMessage[] }> {
  const logs = await knex<LogRow>(tables.logs).where('conversation_hash', conversationHash).orderBy('id', 'desc');
  const log = epoch === undefined ? logs[0] : logs.find((one) => one.epoch === epoch);
  if (!log) return { epoch: epoch ?? '', offset: 0, messages: [] };

  const forwards = after !== undefined;
  const segments = segmentsOf(log, logs);
  const rows: MessageRow[] = [];
  for (const segment of forwards ? segments.reverse() : segments) {
    const from = Math.max(segment.from, (after ?? 0) + 1);
    const to = Math.min(segment.to, (before ?? Number.POSITIVE_INFINITY) - 1);
    if (from > to || rows.length === limit) continue;
    const found = knex<MessageRow>(tables.messages)
      .where('log', segment.log)
      .whereBetween('offset', [from, to])
      .orderBy('offset', forwards ? 'asc' : 'desc')
      .limit(limit - rows.length);
    rows.push(...(await found));
  }
  const messages = (forwards ? rows : rows.reverse()).map((row) => messageOf(row, log.epoch));
  return { epoch: log.epoch, offset: Number(log.last_offset), messages };
}

/** Newest first. What lies before the point where a log went on from another is that other's. */
function segmentsOf(newest: LogRow, logs: readonly LogRow[]): Segment[] {
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
  // The drivers disagree on whether 64 bits are a number.
  const [offset, at] = [Number(row.offset), Number(row.said_at)];
  return { from: decode(row.sender), text: decode(row.text), at, epoch, offset };
}
