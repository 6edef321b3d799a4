/**
 * Caches a value for each of the last few long strings. An application that sends the same long text to one socket
 * after another, as a publisher of market data does, then has it encoded once.
 *
 * The first occurrence of a string is only noted, because caching pays from the second one on. Strings are compared
 * with `===`. It compares addresses first, and otherwise stops at the first difference.
 */
export class RecentStrings<T> {
  private readonly keys: (string | undefined)[] = new Array(SIZE).fill(undefined);
  private readonly values: (T | undefined)[] = new Array(SIZE).fill(undefined);
  /** The slot that was used after each slot the last time. */
  private readonly following: number[] = new Array(SIZE).fill(0);
  private nextSlot = 0;
  private lastSlot = 0;

  /** The cached value; on the second occurrence, the result of `make`; on the first, undefined. */
  get(key: string, make: (key: string) => T): T | undefined {
    // Texts that are sent to one socket after another are sent in the same order.
    const following = this.following[this.lastSlot]!;
    const slot = this.keys[following] === key ? following : this.keys.indexOf(key);
    if (slot === -1) {
      this.keys[this.nextSlot] = key;
      this.values[this.nextSlot] = undefined;
      this.nextSlot = (this.nextSlot + 1) % SIZE;
      return undefined;
    }
    this.following[this.lastSlot] = slot;
    this.lastSlot = slot;
    // Keep the latest of equal strings: if it is the same object next time, no characters are compared.
    this.keys[slot] = key;
    let value = this.values[slot];
    if (value === undefined) {
      value = make(key);
      this.values[slot] = value;
    }
    return value;
  }
}

/** How many strings are cached. */
const SIZE = 32;

/** Encoding a string of this length or more costs more than looking it up. */
export const LONG = 512;
