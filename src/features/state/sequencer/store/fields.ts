import type { Change } from '../../entries.js';
import type { Encoded } from '../../values.js';
import { isTick } from '../../version.js';

/**
 * How a room is kept in Redis. One hash has everything, so that nothing of a room is evicted without the rest:
 *
 *     m<key>     when and by whom the key was changed: `<clock> <origin> <kind> <bytes>`, and `<expires>` with a ttl
 *     v<key>     its value: JSON or bytes; none if the key was deleted
 *     w<writer>  when the sequencer has written last: if it is not there any more, Redis has lost something
 */
export function keyOf(prefix: string, nsp: string, name: string): string {
  return `${prefix}{state:${encodeURIComponent(nsp)}:${encodeURIComponent(name)}}`;
}

export const kinds = { deleted: 0, json: 1, bytes: 2 } as const;

/** What is known of a key without its value. */
export interface Meta {
  readonly clock: number;
  readonly origin: string;
  readonly kind: number;
  readonly bytes: number;
  readonly expires: number | undefined;
}

const META = /^(\d{1,16}) ([\w~-]{1,64}) ([012]) (\d{1,10})(?: (\d{1,16}))?$/;

export function encodeMeta({ clock, origin, value, expires }: Change): string {
  const kind = value === undefined ? kinds.deleted : typeof value === 'string' ? kinds.json : kinds.bytes;
  const meta = `${clock} ${origin} ${kind} ${value === undefined ? 0 : Buffer.byteLength(value)}`;
  return expires === undefined ? meta : `${meta} ${Math.round(expires)}`;
}

/** Undefined if no sequencer has written it. */
export function parseMeta(text: string): Meta | undefined {
  const found = META.exec(text);
  if (!found) return undefined;
  const [, clock, origin, kind, bytes, expires] = found as unknown as [string, string, string, string, string, string?];
  const meta = { clock: Number(clock), origin, kind: Number(kind), bytes: Number(bytes) };
  return isTick(meta.clock) ? { ...meta, expires: expires === undefined ? undefined : Number(expires) } : undefined;
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

/** An x before a value tells the empty one from none. */
export function markedValue(value: Encoded | undefined): string | Buffer {
  if (value === undefined) return '';
  return typeof value === 'string' ? `x${value}` : Buffer.concat([MARK, value]);
}

const MARK = Buffer.from('x');
