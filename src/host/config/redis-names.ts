import { isList, sentinelOf } from '../../cluster/backplanes/redis/address.js';

/** The names that this server uses on Redis. */
export interface RedisNames {
  /** The prefix of channels, and the name of the stream. `@socket.io/redis-adapter` calls it `key`. */
  channels: string;
  /** The prefix of the keys of the history. */
  keys: string;
}

/** What stock servers and emitters use by default. */
const STOCK_PREFIX = 'socket.io';

/**
 * The prefix that the configuration sets. By default, the channels follow the number of the database: databases have
 * keys of their own, but all of them share the channels. Database 0 has the names of stock servers and emitters.
 */
export function redisNamesOf({
  redisPrefix,
  redisUrl,
}: {
  readonly redisPrefix: string | undefined;
  readonly redisUrl: string | undefined;
}): RedisNames {
  const database = databaseOf(redisUrl);
  const channels = redisPrefix ?? (database === 0 ? STOCK_PREFIX : `${STOCK_PREFIX}-${database}`);
  const isOwn = redisPrefix !== undefined && redisPrefix !== STOCK_PREFIX;
  return { channels, keys: isOwn ? `${redisPrefix}:` : 'gjallar:' };
}

/** The database of a URL, given as its path or as the parameter `db`. */
function databaseOf(redisUrl: string | undefined): number {
  // A cluster has database 0 only.
  if (!redisUrl || isList(redisUrl)) return 0;
  const sentinel = sentinelOf(redisUrl);
  if (sentinel) return sentinel.db;
  const { pathname, searchParams } = new URL(redisUrl);
  return Number(searchParams.get('db') ?? /^\/(\d+)$/.exec(pathname)?.[1] ?? 0) || 0;
}
