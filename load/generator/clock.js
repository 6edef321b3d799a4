import { performance } from 'node:perf_hooks';

// hrtime reads the machine's monotonic clock, which all processes share, so a message stamped by one generator process
// can be timed by another. performance.now() reads the same clock without allocating a BigInt.
const offset = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/** Milliseconds, with a fraction, on a clock that all processes of this machine share. */
export const now = () => performance.now() + offset;

/** Digits of a stamp: microseconds of the shared clock, padded with zeros. */
export const STAMP_LENGTH = 15;

/** The current time as text to carry in a message. */
export const stamp = () => String(Math.round(now() * 1000)).padStart(STAMP_LENGTH, '0');

/**
 * Reads a stamp without creating a string.
 * @param {Buffer} chunk
 * @param {number} at where the stamp begins
 * @returns {number} milliseconds of the shared clock, or NaN when there is no stamp at that place
 */
export function readStamp(chunk, at) {
  let micros = 0;
  for (let i = at; i < at + STAMP_LENGTH; i++) {
    const digit = chunk[i] - 48;
    if (!(digit >= 0 && digit <= 9)) return Number.NaN;
    micros = micros * 10 + digit;
  }
  return micros / 1000;
}
