import type { Cluster, Redis } from 'ioredis';
import { OVERHEAD_BYTES } from '../page.js';
import { MAX_PAGE_BYTES, type StoredMessage } from '../store.js';
import type { ConversationKeys } from './keys.js';
import type { Scripts } from './scripts.js';

export type StreamEntry = [id: string, fields: string[]];

export function messageOf([id, [, from, , text, , at]]: StreamEntry, epoch: string): StoredMessage {
  return { from: from!, text: text!, at: Number(at), epoch, offset: Number.parseInt(id, 10) };
}

/**
 * Puts the erased messages of a range, both ends included, between those that were found in it. A stream entry cannot be
 * changed, so an erased message has none: it is a gap.
 */
export function withErased(found: readonly StoredMessage[], epoch: string, from: number, to: number): StoredMessage[] {
  const messages: StoredMessage[] = [];
  const fillTo = (end: number) => {
    for (let offset = from + messages.length; offset < end; offset++) {
      messages.push({ from: '', text: '', at: 0, epoch, offset });
    }
  };
  for (const message of found) {
    fillTo(message.offset);
    messages.push(message);
  }
  fillTo(to + 1);
  return messages;
}

/** How many entries are read without regard to their lengths. */
const CHUNK = 64;

interface Range {
  from: number;
  to: number;
  forwards: boolean;
}

interface Found {
  entries: StreamEntry[];
  isCut: boolean;
  /** The log's epoch after the last entry was read; null if the log is gone. */
  epoch: string | null;
}

/**
 * Reads a range of a log, oldest first, up to about {@link MAX_PAGE_BYTES}. After the first entries a script reads on,
 * so that entries beyond the limit do not leave Redis.
 */
export async function readRange(
  client: (Redis | Cluster) & Scripts,
  { stream, meta }: Pick<ConversationKeys, 'stream' | 'meta'>,
  { from, to, forwards }: Range,
): Promise<Found> {
  const [low, high] = [`${from}-0`, `${to}-0`];
  const reading = forwards
    ? client.xrange(stream, low, high, 'COUNT', CHUNK)
    : client.xrevrange(stream, high, low, 'COUNT', CHUNK);
  // Sent together: Redis answers the commands of one connection in their order.
  const [first, [epoch]] = await Promise.all([reading, client.hmget(meta, 'epoch')]);
  const entries = first as StreamEntry[];
  const bytes = entries.reduce((sum, entry) => sum + bytesOfEntry(entry), 0);
  const last = entries.at(-1);
  const next = last && Number.parseInt(last[0], 10) + (forwards ? 1 : -1);
  const isAll = next === undefined || entries.length < CHUNK || (forwards ? next > to : next < from);
  if (isAll) return { entries: forwards ? entries : entries.reverse(), isCut: false, epoch: epoch! };
  if (bytes >= MAX_PAGE_BYTES) return { entries: forwards ? entries : entries.reverse(), isCut: true, epoch: epoch! };

  const [start, end] = forwards ? [next, to] : [next, from];
  const args = [start, end, forwards ? 1 : 0, MAX_PAGE_BYTES - bytes, CHUNK, OVERHEAD_BYTES];
  const [[more, isCut], [epochNow]] = await Promise.all([
    client.gjallarRange(1, stream, ...args),
    client.hmget(meta, 'epoch'),
  ]);
  for (const entry of more) entries.push(entry);
  return { entries: forwards ? entries : entries.reverse(), isCut: isCut === 1, epoch: epochNow! };
}

function bytesOfEntry([, [, from, , text]]: StreamEntry): number {
  return OVERHEAD_BYTES + Buffer.byteLength(from!) + Buffer.byteLength(text!);
}
