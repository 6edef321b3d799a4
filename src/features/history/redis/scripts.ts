import type { Cluster, Redis } from 'ioredis';
import type { StreamEntry } from './range.js';

/**
 * A conversation is a hash and a stream. The hash has `epoch`, `offset` (the newest), `run` (the Redis process that
 * began the epoch), `line` (the replication id of the data, and a colon), `until` (when the stream expires, in ms) and
 * `former` (earlier epochs, newest first, as `epoch:offset:kept` with commas). The stream's ids are `<offset>-0`, so a page
 * is found by its offsets, wherever it is. An erased message is a gap between them; `low` exists if there may be such
 * gaps. It is the oldest offset that is kept or erased.
 *
 * The epoch must change where the end of the log may have been lost. Redis has a new replication id after each start and
 * each promotion, so a conversation that was not used while a replica stood in shows it too. A stream that is gone before
 * its time, because Redis or an operator has removed it, shows by itself.
 *
 *     run, line, stream          epoch   the former one is kept
 *     same, same, there          same
 *     same, none, there          same
 *     same, other, there         new     if Redis was not promoted
 *     other, any, there          new     the same, and Redis reads an append-only file
 *     any, any, gone too early   new     no, and the new one does not continue it
 *
 * A hash that is gone begins a new log, with an epoch that no earlier one of this name had.
 */
const open = `
local function field(info, name)
  local _, at = string.find(info, name, 1, true)
  return at and string.match(info, '^[^\\r\\n]*', at + 1) or ''
end

-- The script asks each time (a few microseconds): after a failover, or in a cluster, the client does not know.
local function info(section)
  local text = redis.pcall('INFO', section)
  return type(text) == 'string' and text or ''
end

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The epoch of a conversation that has no entry. It follows from a hash of the bucket, so that all readers agree on it
-- although nothing is written for them. The hash has a seed, and what was noted when a log of this name began: so a log that
-- was removed never gets the same epoch again. The hash lives no longer than any conversation. Without it, the seed is
-- another one.
local function epoch_from(begun, fresh, run, line, conversation)
  local noted = redis.call('HMGET', begun, '', conversation)
  local seed, mark = noted[1], noted[2] or ''
  if not seed then
    -- Where nothing can be written, as on a replica, the seed is empty: readers agree without it too.
    local written = redis.pcall('HSET', begun, '', fresh)
    seed = type(written) == 'table' and written.err and '' or fresh
    if seed ~= '' then redis.call('PEXPIRE', begun, 604800000) end
  end
  return string.sub(redis.sha1hex(seed .. ' ' .. run .. ' ' .. line .. ' ' .. mark .. ' ' .. conversation), 1, 18)
end

-- The epoch, newest offset and former epochs of the conversation, and the Redis process if the conversation is new. Then
-- the error, if a new epoch cannot be written, as on a replica: the former epoch is still the right one for readers. Then
-- the line, if the conversation's is another one.
local function open(meta, stream, begun, low, conversation, fresh)
  local m = redis.call('HMGET', meta, 'epoch', 'offset', 'run', 'former', 'line', 'until')
  local replication = info('replication')
  local line = field(replication, 'master_replid:') .. ':'
  -- A second is more than the clocks of a master and its replica usually differ.
  local is_gone = m[6] and redis.call('EXISTS', stream) == 0 and now() < tonumber(m[6]) - 1000
  if m[5] == line and line ~= ':' and not is_gone then return m[1], tonumber(m[2]), m[4] end
  local run = field(info('server'), 'run_id:')
  if not m[1] then return epoch_from(begun, fresh, run, line, conversation), 0, '', run, nil, line end
  -- An earlier version has added more to the line.
  local is_same_line = not m[5] or string.match(m[5], '^%w*:') == line
  if m[3] == run and is_same_line and not is_gone then
    return m[1], tonumber(m[2]), m[4], nil, nil, m[5] ~= line and line or nil
  end
  local former = ''
  if not is_gone then
    -- A snapshot is older than what was acknowledged, and a replica that was promoted may have missed the end.
    local kept = field(replication, 'second_repl_offset:') == '-1'
      and (m[3] == run or field(info('persistence'), 'aof_enabled:') == '1')
    former = m[1] .. ':' .. m[2] .. ':' .. (kept and '1' or '0')
    if m[4] ~= '' then former = former .. ',' .. m[4] end
    -- It is enough to remember a dozen restarts within the life of a message.
    local at = 0
    for _ = 1, 12 do
      at = string.find(former, ',', at + 1, true)
      if not at then break end
    end
    if at then former = string.sub(former, 1, at - 1) end
  end
  local offset = is_gone and 0 or tonumber(m[2])
  local written = redis.pcall('HSET', meta, 'epoch', fresh, 'offset', offset, 'run', run, 'former', former, 'line', line)
  if type(written) == 'table' and written.err then return m[1], tonumber(m[2]), m[4], nil, written end
  if is_gone then
    redis.call('HDEL', meta, 'until')
    redis.call('DEL', low)
  end
  return fresh, offset, former
end
`;

/**
 * KEYS meta, stream, log, due, begun, low, then the idempotency keys.
 * ARGV conversation, fresh epoch, ttl, retention, most messages, then per append the place of its idempotency key in
 * KEYS or 0, the number of its messages, and per message from, text, at. Returns the epoch, then per append the offset of
 * its last message, negative for a duplicate.
 */
const append = `${open}
local meta, stream, log, due = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local conversation, fresh, ttl, retention, most = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local epoch, offset, former, new_run, failed, line = open(meta, stream, KEYS[5], KEYS[6], conversation, fresh)
if failed then return failed end
if new_run then
  -- HSET before DEL: a script that has written may go on writing when the memory is full.
  redis.call('HSET', meta, 'epoch', epoch, 'offset', 0, 'run', new_run, 'former', '', 'line', line)
  redis.call('HSET', KEYS[5], conversation, fresh)
  redis.call('DEL', stream, KEYS[6])
elseif line then
  redis.call('HSET', meta, 'line', line)
end
-- The offset of an earlier append with a key. A log that this one does not continue has taken its messages with it.
local function known(value)
  local last, of = string.match(value or '', '^(%d+):?(.*)$')
  local is_here = last and (of == '' or of == epoch or string.find(',' .. former, ',' .. of .. ':', 1, true))
  return is_here and tonumber(last) or 0
end

-- The last offset of each append, and where those begin that are no duplicates.
local result, new, lasts = { epoch }, {}, {}
local newest, at = offset, 6
while at <= #ARGV do
  local key, count = KEYS[tonumber(ARGV[at])], tonumber(ARGV[at + 1])
  local earlier = key and (lasts[key] or known(redis.call('GET', key))) or 0
  if earlier > 0 and earlier <= newest then
    result[#result + 1] = -earlier
  else
    newest = newest + count
    if key then lasts[key] = newest end
    result[#result + 1] = newest
    new[#new + 1] = at
  end
  at = at + 2 + 3 * count
end
if #new == 0 then return result end

local first = offset + 1
local function write()
  local empty = redis.call('XLEN', stream) == 0
  for _, i in ipairs(new) do
    local key, count = KEYS[tonumber(ARGV[i])], tonumber(ARGV[i + 1])
    for at = i + 2, i + 3 * count - 1, 3 do
      local id = string.format('%d-0', offset + 1)
      redis.call('XADD', stream, id, 'f', ARGV[at], 't', ARGV[at + 1], 'a', ARGV[at + 2])
      offset = offset + 1
      if empty then
        empty = false
        redis.call('ZADD', due, ARGV[at + 2] + ttl, conversation)
        redis.call('PEXPIRE', due, retention)
      end
    end
    if key then redis.call('SET', key, offset .. ':' .. epoch, 'PX', ttl) end
  end
  if offset > most and redis.call('XTRIM', stream, 'MAXLEN', most) > 0 then
    local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
    redis.call('ZADD', due, oldest[2][6] + ttl, conversation)
    redis.call('SET', KEYS[6], string.match(oldest[1], '^%d+'), 'XX', 'KEEPTTL')
  end
  redis.call('PEXPIRE', meta, retention)
  redis.call('PEXPIRE', stream, ttl)
  redis.call('PEXPIRE', KEYS[6], ttl)
  redis.call('HSET', meta, 'until', string.format('%d', now() + ttl))
  local horizon = math.max(0, now() - ttl)
  redis.call('XADD', log, 'MINID', '~', string.format('%d', horizon), '*',
    'c', conversation, 'e', epoch, 'o', first, 'n', offset - first + 1, 'f', string.match(former, '^[^,]*'))
  redis.call('PEXPIRE', log, ttl)
end

-- The stream must never be ahead of the offset, or it would accept nothing more. So the offset is written first.
redis.call('HSET', meta, 'offset', newest)
local ok, problem = pcall(write)
if ok then return result end
-- A right is missing, such as that to XADD. What was added stays, and the next append follows it.
local top = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
redis.call('HSET', meta, 'offset', math.max(offset, top and tonumber(string.match(top[1], '^%d+')) or 0))
-- Up to Redis 6, the error is a text.
return type(problem) == 'table' and problem or redis.error_reply(problem)
`;

/**
 * KEYS meta, stream, begun, low. ARGV conversation, fresh epoch. Returns epoch, newest offset, former epochs, oldest offset,
 * and 1 if messages may have been erased.
 */
const head = `${open}
local epoch, offset, former, new_run = open(KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1], ARGV[2])
if new_run then return { epoch, 0, '', 1, 0 } end
local oldest = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)[1]
local first = oldest and tonumber(string.match(oldest[1], '^%d+')) or offset + 1
local low = redis.call('GET', KEYS[4])
return { epoch, offset, former, math.min(tonumber(low or first), first), low and 1 or 0 }
`;

/**
 * KEYS meta, stream, begun, low. ARGV conversation, fresh epoch, epoch, offsets. Returns how many messages were
 * erased.
 */
const erase = `${open}
local stream, low = KEYS[2], KEYS[4]
local epoch, _, _, new_run = open(KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1], ARGV[2])
local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
if new_run or epoch ~= ARGV[3] or not oldest then return 0 end
local ids = {}
for i = 4, #ARGV do ids[i - 3] = ARGV[i] .. '-0' end
-- Where nothing can be written, nothing is deleted either.
local first = string.match(oldest[1], '^%d+')
redis.call('SET', low, first, 'NX', 'PX', math.max(1, redis.call('PTTL', stream)))
return redis.call('XDEL', stream, unpack(ids))
`;

/** KEYS stream, due, low. ARGV conversation, horizon, ttl. Returns how many messages were removed. */
const trim = `
local stream, due = KEYS[1], KEYS[2]
local conversation, horizon, ttl = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local entries = redis.call('XRANGE', stream, '-', '+', 'COUNT', 500)
for i, entry in ipairs(entries) do
  local at = tonumber(entry[2][6])
  if at >= horizon then
    if i > 1 then
      redis.call('XTRIM', stream, 'MINID', entry[1])
      redis.call('SET', KEYS[3], string.match(entry[1], '^%d+'), 'XX', 'KEEPTTL')
    end
    redis.call('ZADD', due, at + ttl, conversation)
    return i - 1
  end
end
if #entries == redis.call('XLEN', stream) then
  -- The stream stays, empty, until it expires: that it is gone means that it was removed.
  redis.call('XTRIM', stream, 'MAXLEN', 0)
  redis.call('DEL', KEYS[3])
  redis.call('ZREM', due, conversation)
else
  -- The conversation stays due, so the next call continues.
  local next = string.format('%d', string.match(entries[#entries][1], '^%d+') + 1)
  redis.call('XTRIM', stream, 'MINID', next .. '-0')
  redis.call('SET', KEYS[3], next, 'XX', 'KEEPTTL')
end
return #entries
`;

/**
 * KEYS stream. ARGV first and last offset in the order of reading, 1 to read forwards, bytes, entries in one step,
 * overhead of an entry. Returns the entries that fit, in the order of reading, and 1 if there are more.
 */
const range = `
local stream, first, last = KEYS[1], tonumber(ARGV[1]), ARGV[2] .. '-0'
local forwards, left, step, overhead = ARGV[3] == '1', tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local found = {}
while true do
  local entries = redis.call(forwards and 'XRANGE' or 'XREVRANGE', stream, string.format('%d-0', first), last, 'COUNT', step)
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
  gjallarAppend(keys: number, ...args: (string | number)[]): Promise<[epoch: string, ...offsets: number[]]>;
  gjallarHead(keys: number, ...args: (string | number)[]): Promise<[string, number, string, number, number]>;
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
