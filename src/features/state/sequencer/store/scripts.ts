import type { Cluster, Redis } from 'ioredis';

/**
 * KEYS hash of a room. ARGV the field and the value of the writer's mark, the number of deletions that it forgets, for each of
 * them its key and time, and for each change: key, clock, origin, meta, and the value with an x before it, or nothing if the key
 * was deleted.
 *
 * The rule is that of \`isNewer()\`: the greater clock wins, then the greater origin. Redis compares texts by its locale, so the
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
redis.call('HSET', room, ARGV[1], ARGV[2])
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
`;

type Arguments = (string | number | Buffer)[];

/** The script as a method. The number of keys comes first. */
export type StoreClient = (Redis | Cluster) & {
  gjallarStateWrite(keys: number, ...args: Arguments): Promise<unknown>;
};

/** Adds the script to a client. It is sent as a hash, and in full if Redis does not know it yet. */
export function withStoreScript(client: Redis | Cluster): StoreClient {
  client.defineCommand('gjallarStateWrite', { lua: write });
  return client as StoreClient;
}
