import { randomBytes } from 'node:crypto';

const RANDOM_BYTES = 15;
/** How many ids are made at once. */
const COUNT = 256;

/**
 * Makes session ids with 120 random bits behind a prefix: 20 characters that need no escaping in a URL. A client that knows another
 * one's id can act in its name, so ids must not be guessable.
 * @param prefix characters of one byte
 */
export function randomIds(prefix: string): () => string {
  let ids = Buffer.alloc(0);
  let used = 0;
  return () => {
    if (used === ids.length) {
      const random = randomBytes(COUNT * RANDOM_BYTES).toString('base64url');
      // An id lives as long as its session, and V8 keeps the parts of a text, or what it is a part of. What is read from bytes has none.
      ids = Buffer.from(
        random.replaceAll(/.{20}/g, (each) => prefix + each),
        'latin1',
      );
      used = 0;
    }
    const begin = used;
    used += ids.length / COUNT;
    return ids.toString('latin1', begin, used);
  };
}
