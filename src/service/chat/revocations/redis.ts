import type { Cluster, Redis } from 'ioredis';
import type { FieldChange, RevocationStore } from '../../accounts/revocations.js';

/** How many changes one script call makes: Redis serves no other client meanwhile. */
const MAX_SCRIPT = 200;

/** Each change is a field, its expected value and its next one; an empty text means that there is none. */
const replace = `
local all = 1
for at = 1, #ARGV, 3 do
  local field, from, to = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local present = redis.call('HMGET', KEYS[1], field)[1] or ''
  if present ~= from then all = 0
  elseif to == '' then redis.call('HDEL', KEYS[1], field)
  else redis.call('HSET', KEYS[1], field, to) end
end
return all`;

/** Revocations in one hash of Redis, which all machines share. The connection is the history's. */
export class RedisRevocations implements RevocationStore {
  constructor(
    private readonly redis: Redis | Cluster,
    private readonly key: string,
  ) {}

  async read(): Promise<ReadonlyMap<string, string>> {
    return new Map(Object.entries(await this.redis.hgetall(this.key)));
  }

  async replace(changes: readonly FieldChange[]): Promise<boolean> {
    let isDone = true;
    for (let at = 0; at < changes.length; at += MAX_SCRIPT) {
      const args = changes.slice(at, at + MAX_SCRIPT).flatMap(({ field, from = '', to = '' }) => [field, from, to]);
      if ((await this.redis.eval(replace, 1, this.key, ...args)) !== 1) isDone = false;
    }
    return isDone;
  }

  /** Redis may return without what it had. */
  onReturn(listener: () => void): void {
    this.redis.on('ready', listener);
  }

  async close(): Promise<void> {}
}
