import type { Cluster, Redis } from 'ioredis';
import type { KeyChange } from '../../entries.js';
import type { Encoded } from '../../values.js';
import { isTick } from '../../version.js';

/**
 * How a room is kept in Redis. One hash has everything, so that nothing of a room is evicted without the rest:
 *
 *     m<key>     when and by whom the key was changed: `<clock> <origin> <kind> <bytes>`, and `<expires>` with a ttl
 *     v<key>     its value: JSON or bytes; none if the key was deleted
 *     w<writer>  when the sequencer has written last: if it is not there any more, Redis has lost something
 */
export function storeKeyOf(prefix: string, nsp: string, name: string): string {
  return `${prefix}{state:${encodeURIComponent(nsp)}:${encodeURIComponent(name)}}`;
}

export const storedKinds = { deleted: 0, json: 1, bytes: 2 } as const;

/** What is known of a key without its value. */
export interface Meta {
  readonly clock: number;
  readonly origin: string;
  readonly kind: number;
  readonly bytes: number;
  readonly expires: number | undefined;
}

const META = /^(\d{1,16}) ([\w~-]{1,64}) ([012]) (\d{1,10})(?: (\d{1,16}))?$/;

export function encodeMeta({ clock, origin, value, expires }: KeyChange): string {
  const kind =
    value === undefined ? storedKinds.deleted : typeof value === 'string' ? storedKinds.json : storedKinds.bytes;
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
  if (kind === storedKinds.bytes) return value;
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

/**
 * KEYS hash of a room. ARGV the field and the value of the writer's mark, the number of deletions that it forgets, for each of
 * them its key and time, and for each change: key, clock, origin, meta, and the value with an x before it, or nothing if the key
 * was deleted. Returns the mark before.
 *
 * The rule is that of `isNewer()`: the greater clock wins, then the greater origin. Redis compares texts by its locale, so the
 * origins are compared by bytes.
 */
const write = `
local room = KEYS[1]
local function is_after(one, other)
  for i = 1, math.max(#one, #other) do
    local a, b = one:byte(i) or -1, other:byte(i) or -1
    if a ~= b then return a > b end
  end
  return false
end
local function changed(key)
  local meta = redis.call('HMGET', room, 'm' .. key)[1]
  local clock, by = string.match(meta or '', '^(%d+) (%S+) ')
  return tonumber(clock), by
end
local mark = redis.call('HMGET', room, ARGV[1])[1]
-- A write that was on its way for long comes after later ones.
if tonumber(mark or -1) < tonumber(ARGV[2]) then redis.call('HSET', room, ARGV[1], ARGV[2]) end
local first = 4 + 2 * tonumber(ARGV[3])
for i = 4, first - 1, 2 do
  local clock = changed(ARGV[i])
  if clock and clock <= tonumber(ARGV[i + 1]) then redis.call('HDEL', room, 'm' .. ARGV[i], 'v' .. ARGV[i]) end
end
for i = first, #ARGV, 5 do
  local key, clock, origin = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2]
  local before, by = changed(key)
  if not before or clock > before or (clock == before and is_after(origin, by)) then
    if ARGV[i + 4] == '' then
      redis.call('HSET', room, 'm' .. key, ARGV[i + 3])
      redis.call('HDEL', room, 'v' .. key)
    else
      redis.call('HSET', room, 'm' .. key, ARGV[i + 3], 'v' .. key, string.sub(ARGV[i + 4], 2))
    end
  end
end
return mark
`;

type Arguments = (string | number | Buffer)[];

/** The script as a method. The number of keys comes first. */
export type StoreClient = (Redis | Cluster) & {
  gjallarStateWrite(keys: number, ...args: Arguments): Promise<string | null>;
};

/** Adds the script to a client. It is sent as a hash, and in full if Redis does not know it yet. */
export function withStoreScript(client: Redis | Cluster): StoreClient {
  client.defineCommand('gjallarStateWrite', { lua: write });
  return client as StoreClient;
}
