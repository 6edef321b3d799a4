import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { either, text, value } from '../../../base/options.js';

/** How long all servers of Sentinel together may take to name the master, and each of them at least, in ms. */
const MAX_SENTINELS_MS = 1500;
const MIN_SENTINEL_MS = 300;

/**
 * Whether the client of Redis can read a URL. It would take a database that is no number for 0.
 * @param database the path
 */
function isReadable(given: string, database = /^(\/\d*)?$/): boolean {
  try {
    const { protocol, hostname, username, password, pathname } = new URL(given);
    decodeURIComponent(username);
    decodeURIComponent(password);
    return /^rediss?:$/.test(protocol) && hostname !== '' && database.test(pathname);
  } catch {
    return false;
  }
}

/** The URLs that REDIS_URL names, separated by commas: one of Sentinel, or those of single servers. */
export function splitUrls(value: string): string[] {
  return isOfSentinel(value) ? [value] : value.split(',').map((url) => url.trim());
}

/** Whether REDIS_URL names nodes of a cluster. */
export function isList(value: string): boolean {
  return splitUrls(value).length > 1;
}

function isOfSentinel(url: string): boolean {
  return /^rediss?-sentinel:/.test(url);
}

/**
 * How to reach servers, in the form that ioredis accepts. The credentials come from the first URL.
 * @param defaultPort of URLs without one
 */
export function redisNodesOf(urls: readonly string[], defaultPort: number) {
  const parsed = urls.map((url) => new URL(url));
  const [{ protocol, username, password }] = parsed as [URL];
  return {
    nodes: parsed.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || defaultPort),
    })),
    options: {
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && { tls: {} }),
    } satisfies RedisOptions,
  };
}

/**
 * How to reach the master that Sentinel names, in the form that ioredis accepts.
 * @param url `redis-sentinel://[user:password@]host[:port],…/name[?db=1&sentinelPassword=…]`; with `rediss-sentinel:`, all
 *   connections are encrypted
 * @returns undefined for a URL that is not one of Sentinel, or cannot be read
 */
export function sentinelOf(url: string) {
  const [, secure = '', hosts = '', name, query] =
    /^redis(s?)-sentinel:\/\/([^/?#]+)\/([^/?#]+)(?:\?([^#]*))?$/.exec(url) ?? [];
  const urls = hosts.split(',').map((host) => `redis${secure}://${host}`);
  const { db = '0', sentinelUsername, sentinelPassword, ...unknown } = Object.fromEntries(new URLSearchParams(query));
  const isValid = /^\d+$/.test(db) && Object.keys(unknown).length === 0 && urls.every((one) => isReadable(one));
  if (name === undefined || !isValid) return undefined;
  const { nodes: sentinels, options } = redisNodesOf(urls, 26_379);
  const tls = options.tls && { sentinelTLS: {}, enableTLSForSentinelMode: true };
  // They are asked one after the other. If none answers, that is known before a caller stops waiting.
  const sentinelCommandTimeout = Math.max(MAX_SENTINELS_MS / sentinels.length, MIN_SENTINEL_MS);
  return {
    ...options,
    ...tls,
    sentinelCommandTimeout,
    sentinels,
    name,
    db: Number(db),
    sentinelUsername,
    sentinelPassword,
  };
}

/** One or more URLs, separated by commas. */
export const redisUrls = text(
  'a URL that begins with redis:// or rediss://, such as redis://host:6379/1 with a database number, several such URLs ' +
    'without a number, separated by commas, or redis-sentinel://host:port,host:port/name',
  (given) => {
    if (isOfSentinel(given)) return sentinelOf(given) !== undefined;
    // A cluster has the database 0 alone.
    const database = isList(given) ? /^\/?0?$/ : undefined;
    return splitUrls(given).every((url) => isReadable(url, database));
  },
);

/** A Redis of an application. */
export const redisServer = either(
  redisUrls,
  value<Redis | Cluster>('a client of ioredis', (given) => 'defineCommand' in given),
);
