import { randomFillSync } from 'node:crypto';

const RANDOM_BYTES = 15;
const POOL = RANDOM_BYTES * 256;
const pool = Buffer.allocUnsafe(POOL);
let used = POOL;

/**
 * A session id's random part: 120 bits, in 20 characters that need no escaping in a URL. Whoever knows an id can act as
 * its client, therefore it must not be guessable.
 */
export function randomId(): string {
  if (used === POOL) {
    randomFillSync(pool);
    used = 0;
  }
  const id = pool.toString('base64url', used, used + RANDOM_BYTES);
  used += RANDOM_BYTES;
  return id;
}
