import type { Cluster, Redis } from 'ioredis';

const about = `
local room = KEYS[1]
local function number(text) return tonumber(text or 0) or 0 end
local function text(number) return string.format('%.0f', number) end
local life, generation, count, forgotten = unpack(redis.call('HMGET', room, 'alife', 'ageneration', 'acount', 'aforgotten'))
generation, count, forgotten = number(generation), number(count), number(forgotten)
`;

/**
 * KEYS hash and deleted keys of a room. ARGV a name for a new life, the time up to which the writer knows every change, how
 * many deleted keys are kept, and for each change: key, clock, origin, meta, and the value with an x before it, or nothing
 * if the key was deleted. Returns how many changes the writer knows too little for, and life, generation, count and forgotten.
 *
 * The rule is that of \`Entries.apply()\`: the greater clock wins, then the greater origin. Redis compares texts by its
 * locale, so the origins are compared by bytes. A key that is not there may have been deleted up to \`forgotten\`; only a
 * writer that knows all changes up to then can tell that it was not.
 */
const write = `${about}
local deleted, known, max = KEYS[2], tonumber(ARGV[2]), tonumber(ARGV[3])
local function is_after(one, other)
  for i = 1, math.max(#one, #other) do
    local a, b = one:byte(i) or -1, other:byte(i) or -1
    if a ~= b then return a > b end
  end
  return false
end
if not life then
  life = ARGV[1]
  redis.call('HSET', room, 'alife', life)
end
local late = 0
for i = 4, #ARGV, 5 do
  local key, clock, origin = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2]
  local meta = redis.call('HMGET', room, 'm' .. key)[1]
  local before, by = string.match(meta or '', '^(%d+) (%S+) ')
  before = tonumber(before)
  local is_deleted = ARGV[i + 4] == ''
  if not before and clock <= forgotten and (is_deleted or known < forgotten) then
    if not is_deleted then late = late + 1 end
  elseif not before or clock > before or (clock == before and is_after(origin, by)) then
    if is_deleted then
      redis.call('HSET', room, 'm' .. key, ARGV[i + 3])
      redis.call('HDEL', room, 'v' .. key)
      redis.call('ZADD', deleted, clock, key)
    else
      redis.call('HSET', room, 'm' .. key, ARGV[i + 3], 'v' .. key, string.sub(ARGV[i + 4], 2))
      redis.call('ZREM', deleted, key)
    end
  end
end
local over = redis.call('ZCARD', deleted) - max
if over > 0 then
  local oldest = redis.call('ZRANGEBYSCORE', deleted, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, math.min(over, 1000))
  for i = 1, #oldest, 2 do
    redis.call('HDEL', room, 'm' .. oldest[i])
    redis.call('ZREM', deleted, oldest[i])
    forgotten = math.max(forgotten, tonumber(oldest[i + 1]))
  end
end
count = count + 1
redis.call('HSET', room, 'acount', text(count), 'aforgotten', text(forgotten))
return { late, life, text(generation), text(count), text(forgotten) }
`;

/** KEYS hash of a room. ARGV a name for a new life. Returns life, generation, count and forgotten. */
const open = `${about}
if not life then
  life = ARGV[1]
  redis.call('HSET', room, 'alife', life)
end
return { life, text(generation), text(count), text(forgotten) }
`;

/**
 * KEYS hash of a room. ARGV the generation that the caller knows. Begins the next one, unless another worker has. Returns
 * life, generation, count and forgotten.
 */
const renew = `${about}
if generation == tonumber(ARGV[1]) then
  generation = generation + 1
  redis.call('HSET', room, 'ageneration', text(generation))
end
return { life or '', text(generation), text(count), text(forgotten) }
`;

type Arguments = (string | number | Buffer)[];
export type AboutReply = [life: string, generation: string, count: string, forgotten: string];

/** The scripts as methods. The number of keys comes first. */
export interface StoreScripts {
  gjallarStateWrite(keys: number, ...args: Arguments): Promise<[late: number, ...AboutReply]>;
  gjallarStateOpen(keys: number, ...args: Arguments): Promise<AboutReply>;
  gjallarStateRenew(keys: number, ...args: Arguments): Promise<AboutReply>;
}

export type StoreClient = (Redis | Cluster) & StoreScripts;

/** Adds the scripts to a client. They are sent as a hash, and in full if Redis does not know them yet. */
export function withStoreScripts(client: Redis | Cluster): StoreClient {
  client.defineCommand('gjallarStateWrite', { lua: write });
  client.defineCommand('gjallarStateOpen', { lua: open });
  client.defineCommand('gjallarStateRenew', { lua: renew });
  return client as StoreClient;
}
