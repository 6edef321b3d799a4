import { createHash, randomBytes } from 'node:crypto';
import type { Change, Entry } from '../entries.js';
import type { Encoded } from '../options.js';
import { isTick } from '../version.js';
import type { WritingStore } from './hosts.js';

/**
 * How a room is kept in Redis. One hash has everything, so that nothing of a room is evicted without the rest:
 *
 *     alife, ageneration, acount, aforgotten   about the room; see `scripts.ts`
 *     m<key>                                   when and by whom the key was changed: `<clock> <origin> <kind> <bytes>`
 *     v<key>                                   its value: JSON or bytes; none if the key was deleted
 *
 * A sorted set has the deleted keys by the time of their deletion.
 */
export interface RoomKeys {
  readonly room: string;
  readonly deleted: string;
}

/** Both keys of a room are in one slot of a Redis Cluster. */
export function keysOf(prefix: string, nsp: string, name: string): RoomKeys {
  const tag = `${prefix}{state:${encodeURIComponent(nsp)}:${encodeURIComponent(name)}}`;
  return { room: tag, deleted: `${tag}:deleted` };
}

/** What Redis says of a room. */
export interface About {
  /** Names one life of the room in Redis; undefined if there is none. */
  readonly life: string | undefined;
  /** Rises whenever all workers must compare what they have with what Redis has. */
  readonly generation: number;
  /** Rises with each write. */
  readonly count: number;
  /** Deletions up to this time may be missing. */
  readonly forgotten: number;
}

export const ABOUT_FIELDS = ['alife', 'ageneration', 'acount', 'aforgotten'];

export function aboutOf([life, ...counts]: readonly (string | null)[]): About {
  const [generation, count, forgotten] = counts.map(countOf) as [number, number, number];
  return { life: life || undefined, generation, count, forgotten: isTick(forgotten) ? forgotten : 0 };
}

function countOf(value: string | null | undefined): number {
  const count = Number(`${value ?? 0}`);
  return Number.isSafeInteger(count) ? count : 0;
}

/** Short, and of letters that a version may have, whatever Redis says. */
export function markOf(about: About | undefined): string {
  const { life, generation } = about ?? { life: undefined, generation: 0 };
  return createHash('sha256').update(`${generation} ${life}`).digest('base64url').slice(0, 8);
}

export const kinds = { deleted: 0, json: 1, bytes: 2 } as const;

/** What is known of a key without its value. */
export interface Meta {
  readonly clock: number;
  readonly origin: string;
  readonly kind: number;
  readonly bytes: number;
}

const META = /^(\d{1,16}) ([\w~-]{1,64}) ([012]) (\d{1,10})$/;

function encodeMeta({ clock, origin, value }: Change): string {
  const kind = value === undefined ? kinds.deleted : typeof value === 'string' ? kinds.json : kinds.bytes;
  return `${clock} ${origin} ${kind} ${value === undefined ? 0 : Buffer.byteLength(value)}`;
}

/** Undefined if no worker has written it. */
export function parseMeta(text: string): Meta | undefined {
  const found = META.exec(text);
  if (!found) return undefined;
  const [, clock, origin, kind, bytes] = found as unknown as [string, string, string, string, string];
  const meta = { clock: Number(clock), origin, kind: Number(kind), bytes: Number(bytes) };
  return isTick(meta.clock) ? meta : undefined;
}

/** A value as clients get it. Undefined for what is none: every client would get a message that it cannot parse. */
export function decodeStored(kind: number, value: Buffer): Encoded | undefined {
  if (kind === kinds.bytes) return value;
  const text = value.toString();
  try {
    JSON.parse(text);
    return text;
  } catch {
    return undefined;
  }
}

/** Whether a change replaces another one of the same key. */
export function isNewer(one: Pick<Change, 'clock' | 'origin'>, other: Pick<Change, 'clock' | 'origin'>): boolean {
  return one.clock > other.clock || (one.clock === other.clock && one.origin > other.origin);
}

/** A name for a new life of a room in Redis. */
export function lifeName(): string {
  return randomBytes(6).toString('base64url');
}

/** Writes changes to Redis. Older ones than it has change nothing. */
export async function writeChanges(store: WritingStore, changes: readonly Entry[]): Promise<void> {
  const { room, workers } = store;
  const { keys, settings } = room;
  const args: (string | number | Buffer)[] = [
    keys.room,
    keys.deleted,
    lifeName(),
    workers.complete(),
    settings.maxKeys,
  ];
  let bytes = 0;
  for (const change of changes) {
    const { key, clock, origin, value } = change;
    args.push(key, clock, origin, encodeMeta(change), markedValue(value));
    bytes += change.bytes;
  }
  const [late, ...about] = await store.run(bytes, (client) => client.gjallarStateWrite(2, ...args));
  store.noteAbout(aboutOf(about));
  store.countWritten(changes.length);
  // This worker may lack deletions that Redis has forgotten. It will have them soon.
  if (late > 0) store.syncLater();
}

/** An x before a value tells the empty one from none. */
function markedValue(value: Entry['value']): string | Buffer {
  if (value === undefined) return '';
  return typeof value === 'string' ? `x${value}` : Buffer.concat([MARK, value]);
}

const MARK = Buffer.from('x');
