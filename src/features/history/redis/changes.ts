import type { Cluster, Redis } from 'ioredis';
import type { Change, Changes } from '../store.js';
import { BUCKETS, type Keys } from './keys.js';
import { idOf, type StreamEntry, storedMessageOf, withErased } from './range.js';
import type { Scripts } from './scripts.js';

/** A position in a bucket's log: an entry that was read in full, or up to `partly` of its messages. */
interface LogPosition {
  id: string;
  partly?: number;
}

/** Consecutive messages of one conversation, as an entry of the log names them. */
interface Stretch {
  bucket: number;
  conversation: string;
  first: number;
  /** The tag of the first message, and of the one before it. */
  tag: number;
  before: number;
  count: number;
  /** The entry, and how many of its messages come before these. */
  id: string;
  skipped: number;
}

/** Reads the logs of all buckets. Each gets an equal share of the limit until it is used up. */
export async function readChanges(
  client: (Redis | Cluster) & Scripts,
  keys: Keys,
  after: string | undefined,
  limit: number,
): Promise<Changes> {
  const positions = parseCursor(after);
  const changes: Change[] = [];
  let active = [...positions.keys()];
  while (active.length > 0 && changes.length < limit) {
    const share = Math.ceil((limit - changes.length) / active.length);
    const found = await Promise.all(active.map((bucket) => readLog(client, keys, bucket, positions[bucket]!, share)));
    const stretches = found.flatMap((log) => log.stretches);
    const taken = take(stretches, limit - changes.length, positions);
    // Where not all fitted, and messages that did are gone, there is room for more.
    const isCut = countOf(taken) < countOf(stretches);
    active = active.filter((_, index) => isCut || found[index]!.more);
    for (const messages of await Promise.all(taken.map((stretch) => fetch(client, keys, stretch)))) {
      changes.push(...messages);
    }
    if (taken.length === 0) break;
  }
  return { changes, cursor: positions.map(formatPosition).join(',') };
}

async function readLog(client: Redis | Cluster, keys: Keys, bucket: number, position: LogPosition, share: number) {
  const start = position.partly ? position.id : `(${position.id}`;
  const entries = (await client.xrange(keys.log(bucket), start, '+', 'COUNT', share)) as StreamEntry[];
  const stretches: Stretch[] = [];
  let total = 0;
  for (const [id, [, conversation, , first, , count, , tag, , before]] of entries) {
    if (total >= share) break;
    const skipped = id === position.id ? (position.partly ?? 0) : 0;
    const left = Number(count) - skipped;
    total += left;
    stretches.push({
      bucket,
      conversation: conversation!,
      first: Number(first) + skipped,
      tag: Number(tag) + skipped,
      before: skipped > 0 ? Number(tag) + skipped - 1 : Number(before),
      count: left,
      id,
      skipped,
    });
  }
  return { stretches, more: total >= share };
}

const countOf = (stretches: Stretch[]): number => stretches.reduce((sum, { count }) => sum + count, 0);

/** Takes the stretches, or parts of them, that fit, and moves the positions behind them. */
function take(stretches: Stretch[], limit: number, positions: LogPosition[]): Stretch[] {
  const taken: Stretch[] = [];
  let left = limit;
  for (const stretch of stretches) {
    if (left === 0) break;
    const count = Math.min(stretch.count, left);
    left -= count;
    taken.push({ ...stretch, count });
    const partly = count < stretch.count;
    positions[stretch.bucket] = partly ? { id: stretch.id, partly: stretch.skipped + count } : { id: stretch.id };
  }
  return taken;
}

/** Messages that have been trimmed, or lost, in the meantime are missing. */
async function fetch(client: (Redis | Cluster) & Scripts, keys: Keys, stretch: Stretch): Promise<Change[]> {
  const { bucket, conversation, first, count, tag, before } = stretch;
  const last = first + count - 1;
  const range = [idOf({ offset: first, tag }), idOf({ offset: last, tag: tag + count - 1 })] as const;
  const entries = (await client.xrange(keys.stream(bucket, conversation), ...range)) as StreamEntry[];
  let found = entries.map(storedMessageOf).filter((message) => message.tag - tag === message.offset - first);
  if (found.length < count) {
    const { meta, stream, low } = keys.of(conversation);
    const [, , oldest, hasErased] = await client.gjallarHead(3, meta, stream, low, 0, 0);
    if (hasErased && oldest <= last) found = withErased(found, Math.max(first, oldest), last);
  }
  return found.map((message) => {
    const index = message.offset - first;
    return { conversation, ...message, tag: tag + index, before: index === 0 ? before : tag + index - 1 };
  });
}

const formatPosition = ({ id, partly }: LogPosition): string => (id === '0-0' ? '' : partly ? `${id}+${partly}` : id);

function parseCursor(cursor = ''): LogPosition[] {
  const parts = cursor.split(',');
  return Array.from({ length: BUCKETS }, (_, bucket) => {
    const [id, partly] = parts[bucket]?.split('+') ?? [];
    // The cursor of another store means nothing here, so reading starts at the beginning.
    return /^\d+-\d+$/.test(id ?? '') ? { id: id!, partly: Number(partly ?? 0) } : { id: '0-0' };
  });
}
