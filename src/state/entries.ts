import type { Namespace } from 'socket.io';
import type { Adapter } from 'socket.io-adapter';
import type { Encoded } from './options.js';

const hooked = new WeakSet<Adapter>();

/**
 * Has something end with a namespace: socket.io closes the adapter with the server, and with a child namespace that it
 * removes. What ends here may still send over the adapter.
 */
export function endWith({ adapter }: Namespace, end: () => Promise<unknown>): void {
  if (hooked.has(adapter)) return;
  hooked.add(adapter);
  const { close } = adapter;
  adapter.close = async () => {
    await end();
    await close.call(adapter);
  };
}

/** The latest change of a key. */
export interface Entry {
  readonly key: string;
  /** The beginning of its change on the wire, encoded once. */
  readonly head: string;
  /** Its place in this worker's order of changes; each change has the next number. */
  seq: number;
  /** When it was made, on the hybrid clock of the worker that made it. */
  clock: number;
  /** The worker that made it. */
  origin: string;
  /** Undefined if the key was deleted. */
  value: Encoded | undefined;
  /** Of key and value. */
  bytes: number;
}

/** A change as workers exchange it. */
export type Change = Pick<Entry, 'key' | 'clock' | 'origin' | 'value'>;

/** The log is compacted if it has this many superseded changes, and more than there are current ones. */
const MAX_SUPERSEDED = 1024;
/** While another worker is silent, at most this multiple of `maxDeleted` is remembered. */
const MAX_WAITING = 4;

/**
 * The keys of a room, and the order of their latest changes. A change moves its key to the end of the order, so a reader
 * that has everything up to a number needs only what comes after it, and each key of it once.
 *
 * Deleted keys stay in the order, for readers that still have to hear of them, until there are too many.
 */
export class Entries {
  /** The number of the latest change. */
  seq = 0;
  /** Keys that have a value. */
  size = 0;
  /** Bytes of these keys and their values. */
  bytes = 0;
  /** Bytes of the deleted keys that are remembered. */
  deletedBytes = 0;
  /** The number of the latest deletion that is forgotten. A reader that is behind it needs a snapshot. */
  forgottenSeq = 0;
  /** The latest time of a deletion that is forgotten. */
  forgottenClock = 0;
  /** The latest time of a change. */
  maxClock = 0;
  private readonly byKey = new Map<string, Entry>();
  private readonly deleted = new Set<string>();
  /** All changes by number; a change whose number is not its entry's any more is superseded. */
  private log: Entry[] = [];
  private seqs: number[] = [];

  /**
   * @param maxDeleted how many deleted keys are remembered
   * @param completeUpTo the time up to which every change is here. Later deletions are remembered longer, within bounds:
   *   an older change of such a key may still be on its way.
   */
  constructor(
    private readonly maxDeleted: number,
    private readonly completeUpTo: () => number = () => Number.POSITIVE_INFINITY,
  ) {}

  /** Deleted keys that are remembered. */
  get deletedSize(): number {
    return this.deleted.size;
  }

  /** The entry of a key that has a value. */
  get(key: string): (Entry & { value: Encoded }) | undefined {
    const entry = this.byKey.get(key);
    return entry?.value === undefined ? undefined : (entry as Entry & { value: Encoded });
  }

  /** The latest change of a key, also if that has deleted it. */
  find(key: string): Readonly<Entry> | undefined {
    return this.byKey.get(key);
  }

  /** Applies a change, unless the key has a newer one. Returns whether it was applied. */
  apply({ key, clock, origin, value }: Change): boolean {
    let entry = this.byKey.get(key);
    // The key may have been deleted later than that. Nothing tells any more.
    if (!entry && clock <= this.forgottenClock) return false;
    if (entry && (clock < entry.clock || (clock === entry.clock && origin <= entry.origin))) return false;
    if (!entry) {
      entry = { key, head: `[${JSON.stringify(key)}`, seq: 0, clock, origin, value: undefined, bytes: 0 };
      this.byKey.set(key, entry);
    } else if (entry.value !== undefined) this.count(entry, -1);
    else if (this.deleted.delete(key)) this.deletedBytes -= entry.bytes;
    entry.seq = ++this.seq;
    entry.clock = clock;
    entry.origin = origin;
    entry.value = value;
    entry.bytes = bytesOf(key, value);
    if (clock > this.maxClock) this.maxClock = clock;
    if (value !== undefined) this.count(entry, 1);
    else {
      this.deleted.add(key);
      this.deletedBytes += entry.bytes;
      if (this.deleted.size > this.maxDeleted) this.forgetSome();
    }
    this.log.push(entry);
    this.seqs.push(entry.seq);
    if (this.log.length > 2 * this.byKey.size + MAX_SUPERSEDED) this.compact();
    return true;
  }

  /** The entries, deleted ones included, that have changed after a number, in order. */
  *after(seq: number): Generator<Entry> {
    const { log, seqs } = this;
    for (let index = this.indexAfter(seq); index < log.length; index++) {
      if (log[index]!.seq === seqs[index]) yield log[index]!;
    }
  }

  /** The largest number such that all changes that are later than a time have larger ones. */
  seqBefore(clock: number): number {
    const { log, seqs } = this;
    for (let index = 0; index < log.length; index++) {
      const entry = log[index]!;
      if (entry.clock > clock && entry.seq === seqs[index]) return entry.seq - 1;
    }
    return this.seq;
  }

  /** The entries that have a value, those that were changed last at the end. */
  *present(): Generator<Entry & { value: Encoded }> {
    for (const entry of this.after(0)) if (entry.value !== undefined) yield entry as Entry & { value: Encoded };
  }

  private count(entry: Entry, sign: 1 | -1): void {
    this.size += sign;
    this.bytes += sign * entry.bytes;
  }

  private forgetSome(): void {
    const complete = this.completeUpTo();
    for (const key of this.deleted) {
      const isCrowded = this.deleted.size > MAX_WAITING * this.maxDeleted;
      const entry = this.byKey.get(key)!;
      if (this.deleted.size <= this.maxDeleted || (entry.clock > complete && !isCrowded)) return;
      this.deleted.delete(key);
      this.deletedBytes -= entry.bytes;
      this.byKey.delete(key);
      this.forgottenSeq = entry.seq;
      this.forgottenClock = Math.max(this.forgottenClock, entry.clock);
      // Marks it as superseded in the log.
      entry.seq = 0;
    }
  }

  private indexAfter(seq: number): number {
    let low = 0;
    let high = this.seqs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.seqs[middle]! > seq) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  private compact(): void {
    const { log, seqs } = this;
    this.log = log.filter((entry, index) => entry.seq === seqs[index]);
    this.seqs = this.log.map((entry) => entry.seq);
  }
}

/** About how much memory a key takes besides its bytes and those of its value. */
export const KEY_BYTES = 300;

/** Bytes of a key and its value. */
export function bytesOf(key: string, value: Encoded | undefined): number {
  return Buffer.byteLength(key) + (value === undefined ? 0 : Buffer.byteLength(value));
}
