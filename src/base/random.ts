import crypto from 'node:crypto';

type Bytes = (size: number) => Buffer;
type Integer = (min: number, max: number) => number;

/** Random bytes and integers: names of workers, and numbers that must not be those of a former life. */
export let randomBytes: Bytes = crypto.randomBytes;
/** An integer from `min` to `max` - 1. */
export let randomInt: Integer = crypto.randomInt;

/** Lets a simulation choose them, so that it can repeat itself, until the function that it returns is called. */
export function replaceRandom(bytes: Bytes, integer: Integer): () => void {
  [randomBytes, randomInt] = [bytes, integer];
  return () => {
    [randomBytes, randomInt] = [crypto.randomBytes, crypto.randomInt];
  };
}
