import type { Cluster, Redis } from 'ioredis';
import { OVERHEAD_BYTES } from '../page.js';
import { MAX_PAGE_BYTES, type Position, type StoredMessage } from '../store.js';
import type { Scripts } from './scripts.js';

export type StreamEntry = [id: string, fields: string[]];

export function storedMessageOf([id, [, from, , text, , at]]: StreamEntry): StoredMessage {
  const dash = id.indexOf('-');
  const [offset, tag] = [Number(id.slice(0, dash)), Number(id.slice(dash + 1))];
  return { from: from!, text: text!, at: Number(at), offset, tag };
}

export const idOf = ({ offset, tag }: Position): string => `${offset}-${tag}`;

/**
 * Puts the erased messages of a range, both ends included, between those that were found in it. A stream entry cannot be
 * changed, so an erased message has none: it is a gap.
 * @param tag that of a message before the range; 0 if it is not known
 */
export function withErased(found: readonly StoredMessage[], from: number, to: number, tag = 0): StoredMessage[] {
  const messages: StoredMessage[] = [];
  const fillTo = (end: number) => {
    for (let offset = from + messages.length; offset < end; offset++) {
      messages.push({ from: '', text: '', at: 0, offset, tag: messages.at(-1)?.tag ?? tag });
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
}

/**
 * Reads a range of a log, oldest first, up to about {@link MAX_PAGE_BYTES}. After the first entries a script reads on,
 * so that entries beyond the limit do not leave Redis.
 */
export async function readRange(
  client: (Redis | Cluster) & Scripts,
  stream: string,
  { from, to, forwards }: Range,
): Promise<Found> {
  const first = forwards
    ? await client.xrange(stream, from, to, 'COUNT', CHUNK)
    : await client.xrevrange(stream, to, from, 'COUNT', CHUNK);
  const entries = first as StreamEntry[];
  const bytes = entries.reduce((sum, entry) => sum + bytesOfEntry(entry), 0);
  const last = entries.at(-1);
  const next = last && Number.parseInt(last[0], 10) + (forwards ? 1 : -1);
  const isAll = next === undefined || entries.length < CHUNK || (forwards ? next > to : next < from);
  let isCut = !isAll && bytes >= MAX_PAGE_BYTES;
  if (!isAll && !isCut) {
    const [start, end] = forwards ? [next, to] : [next, from];
    const args = [start, end, forwards ? 1 : 0, MAX_PAGE_BYTES - bytes, CHUNK, OVERHEAD_BYTES];
    const [more, isCutThere] = await client.gjallarRange(1, stream, ...args);
    entries.push(...more);
    isCut = isCutThere === 1;
  }
  return { entries: forwards ? entries : entries.reverse(), isCut };
}

function bytesOfEntry([, [, from, , text]]: StreamEntry): number {
  return OVERHEAD_BYTES + Buffer.byteLength(from!) + Buffer.byteLength(text!);
}
