import { randomFillSync } from 'node:crypto';

const RANDOM_BYTES = 15;
const POOL = RANDOM_BYTES * 256;
const pool = Buffer.allocUnsafe(POOL);
let used = POOL;

/**
 * Strings that were put together keep their parts, as long as nobody needs the whole at one place in memory. An id lives
 * as long as its session.
 */
function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/**
 * A session id's random part: 120 bits, in 20 characters that need no escaping in a URL. Whoever knows an id can act as
 * its client, therefore it must not be guessable.
 */
export function randomId(prefix: string): string {
  if (used === POOL) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.toString('base64url', used, used + RANDOM_BYTES);
  used += RANDOM_BYTES;
  return prefix === '' ? random : flat(prefix + random);
}
