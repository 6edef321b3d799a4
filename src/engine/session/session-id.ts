import { randomFillSync } from 'node:crypto';

const RANDOM_BYTES = 15;
const POOL = RANDOM_BYTES * 256;
const pool = Buffer.allocUnsafe(POOL);
let used = POOL;

/** Copies a concatenated string. V8 keeps the parts of such strings, and an id lives as long as its session. */
function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/**
 * A session id with 120 random bits, in 20 characters that need no escaping in a URL. A client that knows another one's
 * id can act in its name, so ids must not be guessable.
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
