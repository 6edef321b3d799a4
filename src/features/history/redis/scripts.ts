import type { Cluster, Redis } from 'ioredis';
import type { StreamEntry } from './range.js';

/**
 * A conversation is a hash and a stream. The hash has `offset` and `tag`, the newest position. The stream's ids are
 * `<offset>-<tag>`, so a page is found by its offsets, wherever it is. An erased message is a gap between them; `low` exists if
 * there may be such gaps. It is the oldest offset that is kept or erased. Hash and stream live equally long: if one of them is
 * gone, Redis or an operator has removed it, and the conversation begins again.
 */
const open = `
local function parts(id)
  local offset, tag = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(offset), tonumber(tag)
end

local function id_of(offset, tag)
  return string.format('%d-%.0f', offset, tag)
end

-- The first message that is kept at an offset or after it: its offset and tag.
local function at_or_after(stream, offset)
  local entry = redis.call('XRANGE', stream, string.format('%d', offset), '+', 'COUNT', 1)[1]
  if entry then return parts(entry[1]) end
end

-- The newest offset and its tag; nothing if there never was a message.
local function open(meta, stream)
  local m = redis.call('HMGET', meta, 'offset', 'tag')
  if m[1] and redis.call('EXISTS', stream) == 1 then return tonumber(m[1]), tonumber(m[2]) end
end
`;

/**
 * KEYS meta, stream, log, due, low, then the idempotency keys.
 * ARGV conversation, least tag, ttl, retention, most messages, then per append the place of its idempotency key in
 * KEYS or 0, the number of its messages, and per message from, text, at. Returns the tag of the newest message before, then
 * per append the position of its last message; the offset is negative for a duplicate.
 */
const append = `${open}
local meta, stream, log, due, low = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local conversation, ttl, retention, most = ARGV[1], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local offset, before = open(meta, stream)
local is_new = not offset
offset, before = offset or 0, before or 0
local tag = math.max(tonumber(ARGV[2]), before + 1) - 1
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- The position of an earlier append with a key. Where the log has another message there, it has lost that append.
local function known(value)
  local last, its_tag = parts(value or '')
  if not last or last > offset then return end
  local kept, kept_tag = at_or_after(stream, last)
  if kept == last and kept_tag ~= its_tag or (kept_tag or before) < its_tag then return end
  return { last, its_tag }
end

-- The last position of each append, and where those begin that are no duplicates.
local result, new, lasts = { before }, {}, {}
local newest, at = { offset, tag }, 6
while at <= #ARGV do
  local key, count = KEYS[tonumber(ARGV[at])], tonumber(ARGV[at + 1])
  local earlier = key and (lasts[key] or known(redis.call('GET', key)))
  if earlier then
    result[#result + 1] = -earlier[1]
    result[#result + 1] = earlier[2]
  else
    newest = { newest[1] + count, newest[2] + count }
    if key then lasts[key] = newest end
    result[#result + 1] = newest[1]
    result[#result + 1] = newest[2]
    new[#new + 1] = at
  end
  at = at + 2 + 3 * count
end
if #new == 0 then return result end

local first, first_tag = offset + 1, tag + 1
local function due_with_oldest()
  redis.call('ZADD', due, redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1][2][6] + ttl, conversation)
end
local function write()
  local due_at = ARGV[new[1] + 4] + ttl
  if redis.call('XLEN', stream) == 0 then
    redis.call('ZADD', due, due_at, conversation)
  elseif redis.call('ZADD', due, 'NX', due_at, conversation) == 1 then
    -- Redis or an operator has removed the index alone.
    due_with_oldest()
  end
  for _, i in ipairs(new) do
    local key, count = KEYS[tonumber(ARGV[i])], tonumber(ARGV[i + 1])
    for at = i + 2, i + 3 * count - 1, 3 do
      redis.call('XADD', stream, id_of(offset + 1, tag + 1), 'f', ARGV[at], 't', ARGV[at + 1], 'a', ARGV[at + 2])
      offset, tag = offset + 1, tag + 1
    end
    if key then redis.call('SET', key, id_of(offset, tag), 'PX', ttl) end
  end
  -- By offset: an erased message counts, though its entry is gone.
  local floor = offset - most + 1
  if floor > 1 and redis.call('XTRIM', stream, 'MINID', string.format('%d', floor)) > 0 then
    due_with_oldest()
  end
  if floor > (tonumber(redis.call('GET', low)) or floor) then
    redis.call('SET', low, string.format('%d', floor), 'KEEPTTL')
  end
  for _, key in ipairs({ meta, stream, low, due }) do redis.call('PEXPIRE', key, retention) end
  redis.call('XADD', log, 'MINID', '~', string.format('%d', math.max(0, now - ttl)), '*', 'c', conversation,
    'o', first, 'n', offset - first + 1, 't', string.format('%.0f', first_tag), 'b', string.format('%.0f', before))
  redis.call('PEXPIRE', log, ttl)
end

-- The stream must never be ahead of the offset, or it would accept nothing more. So the offset is written first, and HSET
-- comes before DEL: a script that has written may go on writing when the memory is full.
local function keep(newest_offset, newest_tag)
  redis.call('HSET', meta, 'offset', newest_offset, 'tag', string.format('%.0f', newest_tag))
end
keep(newest[1], newest[2])
if is_new then redis.call('DEL', stream, low) end
local ok, problem = pcall(write)
if ok then return result end
-- A right is missing, such as that to XADD. What was added stays, and the next append follows it.
local top = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
local top_offset, top_tag = parts(top and top[1] or '')
if top_offset and top_offset >= offset then keep(top_offset, top_tag) else keep(offset, math.max(tag, before)) end
-- Up to Redis 6, the error is a text.
return type(problem) == 'table' and problem or redis.error_reply(problem)
`;

/**
 * KEYS meta, stream, low. ARGV the offset and tag of a reader, 0 if there is none. Returns the newest position, the oldest
 * offset, 1 if messages may have been erased, where the reader goes on, and 1 if the log does not have the reader's message.
 */
const head = `${open}
local stream = KEYS[2]
local newest, newest_tag = open(KEYS[1], stream)
local offset, tag = tonumber(ARGV[1]), tonumber(ARGV[2])
if not newest then return { 0, 0, 1, 0, 0, tag > 0 and 1 or 0 } end
local low = tonumber(redis.call('GET', KEYS[3]))
local kept = at_or_after(stream, 0) or newest + 1
local first = math.min(low or kept, kept)
local state = { newest, newest_tag, first, low and 1 or 0, offset, 0 }
if tag == 0 or offset == newest and tag == newest_tag then return state end
if tag > newest_tag then
  state[5], state[6] = newest, 1
  return state
end
local its, its_tag = at_or_after(stream, offset)
if its == offset and its_tag == tag then return state end

-- The last message that is not newer than the reader's, as the comparison of LogState has it; behind it, a gap is erased.
local shared, last = first - 1, newest
while shared < last do
  local middle = math.ceil((shared + last) / 2)
  local found, found_tag = at_or_after(stream, middle)
  if found and found_tag <= tag then shared = found else last = middle - 1 end
end
local next = at_or_after(stream, shared + 1) or newest + 1
local is_erased = low and first <= offset and shared < offset and offset < next
local is_trimmed = (offset == 0 or offset < first and offset < newest) and shared < first
if is_erased or is_trimmed then return state end
state[5], state[6] = shared, offset > 0 and 1 or 0
return state
`;

/** KEYS meta, stream, low. ARGV the ids of messages. Returns how many messages were erased. */
const erase = `${open}
local stream = KEYS[2]
local oldest = open(KEYS[1], stream) and at_or_after(stream, 0)
if not oldest then return 0 end
-- Where nothing can be written, nothing is deleted either.
redis.call('SET', KEYS[3], string.format('%d', oldest), 'NX', 'PX', math.max(1, redis.call('PTTL', stream)))
return redis.call('XDEL', stream, unpack(ARGV))
`;

/** KEYS stream, due, low. ARGV conversation, horizon, ttl. Returns how many messages were removed. */
const trim = `
local stream, due, low = KEYS[1], KEYS[2], KEYS[3]
local conversation, horizon, ttl = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local entries = redis.call('XRANGE', stream, '-', '+', 'COUNT', 501)
local removed = 0
while removed < math.min(#entries, 500) and tonumber(entries[removed + 1][2][6]) < horizon do removed = removed + 1 end
local next = entries[removed + 1]
if next then
  if removed > 0 then
    redis.call('XTRIM', stream, 'MINID', next[1])
    redis.call('SET', low, string.match(next[1], '^%d+'), 'XX', 'KEEPTTL')
  end
  -- If it is too old as well, the conversation stays due, and the next call continues.
  redis.call('ZADD', due, next[2][6] + ttl, conversation)
else
  -- The stream stays, empty: that it is gone means that it was removed.
  redis.call('XTRIM', stream, 'MAXLEN', 0)
  redis.call('DEL', low)
  redis.call('ZREM', due, conversation)
end
return removed
`;

/**
 * KEYS stream. ARGV first and last offset in the order of reading, 1 to read forwards, bytes, entries in one step,
 * overhead of an entry. Returns the entries that fit, in the order of reading, and 1 if there are more.
 */
const range = `
local stream, first, last = KEYS[1], tonumber(ARGV[1]), ARGV[2]
local forwards, left, step, overhead = ARGV[3] == '1', tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local found = {}
while true do
  local entries = redis.call(forwards and 'XRANGE' or 'XREVRANGE', stream, string.format('%d', first), last, 'COUNT', step)
  for _, entry in ipairs(entries) do
    left = left - overhead - #entry[2][2] - #entry[2][4]
    if left < 0 then return { found, 1 } end
    found[#found + 1] = entry
  end
  if #entries < step then return { found, 0 } end
  first = tonumber(string.match(entries[step][1], '^%d+')) + (forwards and 1 or -1)
  if first < 1 then return { found, 0 } end
end
`;

/** KEYS a stream that nothing reads, in the slot of a conversation. Writes as an append does. */
const check = `
redis.call('XADD', KEYS[1], 'MAXLEN', 1, '*', 'c', '')
redis.call('PEXPIRE', KEYS[1], 1000)
`;

/** The scripts as methods. The number of keys comes first, since it varies. */
export interface Scripts {
  gjallarAppend(keys: number, ...args: (string | number)[]): Promise<[before: number, ...positions: number[]]>;
  gjallarHead(keys: number, ...args: (string | number)[]): Promise<[number, number, number, number, number, number]>;
  gjallarErase(keys: number, ...args: (string | number)[]): Promise<number>;
  gjallarRange(keys: number, ...args: (string | number)[]): Promise<[entries: StreamEntry[], isCut: number]>;
  gjallarTrim(keys: number, ...args: (string | number)[]): Promise<number>;
  gjallarCheck(keys: number, ...args: (string | number)[]): Promise<unknown>;
}

/** Adds the scripts to a client. They are sent as a hash, and in full if Redis does not know them yet. */
export function withScripts<Client extends Redis | Cluster>(client: Client): Client & Scripts {
  client.defineCommand('gjallarAppend', { lua: append });
  client.defineCommand('gjallarHead', { lua: head });
  client.defineCommand('gjallarErase', { lua: erase });
  client.defineCommand('gjallarRange', { lua: range });
  client.defineCommand('gjallarTrim', { lua: trim });
  client.defineCommand('gjallarCheck', { lua: check });
  return client as Client & Scripts;
}
