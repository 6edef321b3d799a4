/**
 * Remembers what was made of the last few long strings. Applications that send the same long text to one socket after
 * another, as a publisher of market data does, then have it encoded once.
 *
 * A string that is seen for the first time is only noted: making more of it pays when it comes again. Strings are told
 * apart by `===`, which is a comparison of addresses for one and the same, and ends at the first difference otherwise.
 */
export class RecentStrings<T> {
  private readonly keys: (string | undefined)[] = new Array(SIZE).fill(undefined);
  private readonly values: (T | undefined)[] = new Array(SIZE).fill(undefined);
  private nextSlot = 0;
  private lastSlot = 0;

  /** What was made of the string, or `make(string)` when it comes for the second time, else undefined. */
  get(key: string, make: (key: string) => T): T | undefined {
    // Who sends the same texts to one after another sends them in the same order.
    const following = (this.lastSlot + 1) % SIZE;
    const slot = this.keys[following] === key ? following : this.keys.indexOf(key);
    if (slot === -1) {
      this.keys[this.nextSlot] = key;
      this.values[this.nextSlot] = undefined;
      this.nextSlot = (this.nextSlot + 1) % SIZE;
      return undefined;
    }
    this.lastSlot = slot;
    // The same text at another address: kept as it comes now, it is not compared character by character the next time.
    this.keys[slot] = key;
    let value = this.values[slot];
    if (value === undefined) {
      value = make(key);
      this.values[slot] = value;
    }
    return value;
  }
}

/** How many strings are remembered. */
const SIZE = 32;

/** From this length on, encoding a string costs more than looking it up. */
export const LONG = 512;
