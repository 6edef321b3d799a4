import { type Entries, type KeyChange, keyBytesOf } from '../entries.js';
import type { Encoded } from '../values.js';

interface Pending {
  readonly change: KeyChange;
  readonly number: number;
  readonly bytes: number;
}

/** The entries of a room with what this worker has changed and the sequencer has not numbered yet on top. */
export class Overlay {
  /** How many keys and bytes there are more than in the entries. */
  private moreKeys = 0;
  private moreBytes = 0;
  private readonly pending = new Map<string, Pending>();

  constructor(private entries: Entries) {}

  /** Keys that have a value. */
  get size(): number {
    return this.entries.size + this.moreKeys;
  }

  /** Bytes of these keys and their values. */
  get bytes(): number {
    return this.entries.bytes + this.moreBytes;
  }

  get changes(): KeyChange[] {
    return [...this.pending.values()].map(({ change }) => change);
  }

  /** Whether this worker has changed a key and the sequencer has not. */
  has(key: string): boolean {
    return this.pending.has(key);
  }

  get(key: string): Encoded | undefined {
    const pending = this.pending.get(key);
    return pending ? pending.change.value : this.entries.get(key)?.value;
  }

  /** Bytes of a key and its value; undefined if it has none. */
  sizeOf(key: string): number | undefined {
    const pending = this.pending.get(key);
    if (pending) return pending.change.value === undefined ? undefined : pending.bytes;
    return this.entries.get(key)?.bytes;
  }

  /** All keys that have a value, those that were changed last at the end. */
  *present(): Generator<[key: string, value: Encoded]> {
    for (const { key, value } of this.entries.present()) if (!this.pending.has(key)) yield [key, value];
    for (const { change } of this.pending.values()) if (change.value !== undefined) yield [change.key, change.value];
  }

  /** This worker has changed a key. */
  add(change: KeyChange, number: number): void {
    const { key, value } = change;
    this.around(key, () => {
      // At the end, in the order of numbers.
      this.pending.delete(key);
      this.pending.set(key, { change, number, bytes: keyBytesOf(key, value) });
    });
  }

  /** The sequencer has numbered a change. */
  put(change: KeyChange, seq: number): void {
    this.around(change.key, () => this.entries.put(change, seq));
  }

  /** The sequencer has numbered what this worker has changed up to a number. */
  acked(upTo: number): void {
    for (const [key, { number }] of this.pending) {
      // They are in order.
      if (number > upTo) return;
      this.around(key, () => this.pending.delete(key));
    }
  }

  /** The entries are others from now on. */
  replace(entries: Entries): void {
    for (const key of this.pending.keys()) this.count(key, -1);
    this.entries = entries;
    for (const key of this.pending.keys()) this.count(key, 1);
  }

  private around(key: string, act: () => void): void {
    this.count(key, -1);
    act();
    this.count(key, 1);
  }

  /** What a key has more than the entries. */
  private count(key: string, sign: 1 | -1): void {
    if (!this.pending.has(key)) return;
    const [now, before] = [this.sizeOf(key), this.entries.get(key)?.bytes];
    this.moreKeys += sign * ((now === undefined ? 0 : 1) - (before === undefined ? 0 : 1));
    this.moreBytes += sign * ((now ?? 0) - (before ?? 0));
  }
}
