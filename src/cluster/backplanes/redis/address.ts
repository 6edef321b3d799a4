import type { Cluster, Redis } from 'ioredis';
import { either, text, value } from '../../../base/options.js';

/** Whether the client of Redis can read a URL. */
function isReadable(given: string): boolean {
  try {
    const { protocol, hostname, username, password } = new URL(given);
    decodeURIComponent(username);
    decodeURIComponent(password);
    return /^rediss?:$/.test(protocol) && hostname !== '';
  } catch {
    return false;
  }
}

/** One or more URLs, separated by commas. */
export const redisUrls = text(
  'a URL that begins with redis:// or rediss://, or several such URLs separated by commas',
  (given) => given.split(',').every((url) => isReadable(url.trim())),
);

/** A Redis of an application. */
export const redisServer = either(
  redisUrls,
  value<Redis | Cluster>('a client of ioredis', (given) => 'defineCommand' in given),
);
