import type { Encoded } from './values.js';

/** The latest change of a key. */
export interface StateEntry {
  readonly key: string;
  /** The beginning of its change on the wire, encoded once. */
  readonly head: string;
  /** Its place in the order of changes of the machine. */
  seq: number;
  /** When it was made, on the hybrid clock of the machine that made it. */
  clock: number;
  /** The sequencer that made it. */
  origin: string;
  /** Undefined if the key was deleted. */
  value: Encoded | undefined;
  /** When the key is deleted, in ms since 1970; undefined if it stays. */
  expires: number | undefined;
  /** The worker with which the key goes; undefined if it stays. */
  owner: string | undefined;
  /** Of key and value. */
  bytes: number;
}

/** A change as workers and machines exchange it. */
export type KeyChange = Pick<StateEntry, 'key' | 'clock' | 'origin' | 'value'> & {
  readonly expires?: number | undefined;
  readonly owner?: string | undefined;
};

/** The change that an entry is the result of. */
export function changeOf({ key, clock, origin, value, expires, owner }: KeyChange): KeyChange {
  return { key, clock, origin, value, expires, owner };
}

/** Whether a change replaces another one of the same key. */
export function isNewer(one: Pick<KeyChange, 'clock' | 'origin'>, other: Pick<KeyChange, 'clock' | 'origin'>): boolean {
  return one.clock > other.clock || (one.clock === other.clock && one.origin > other.origin);
}

/** The log is compacted if it has this many superseded changes, and more than there are current ones. */
const MAX_SUPERSEDED = 1024;

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
  /** The number of the latest deletion that is forgotten. A reader that is behind it needs a snapshot. */
  forgottenSeq = 0;
  /** The latest time of a deletion that is forgotten. */
  forgottenClock = 0;
  /** Whether no deletion is forgotten: what it has deleted already may still arrive. */
  isFilling = false;
  /** Called with each deletion that is forgotten. */
  onForget: ((key: string, clock: number) => void) | undefined;
  private readonly byKey = new Map<string, StateEntry>();
  private readonly deleted = new Set<string>();
  /** All changes by number; a change whose number is not its entry's any more is superseded. */
  private log: StateEntry[] = [];
  private seqs: number[] = [];

  /** @param maxDeleted how many deleted keys are remembered */
  constructor(private readonly maxDeleted: number) {}

  /** The entry of a key that has a value. */
  get(key: string): (StateEntry & { value: Encoded }) | undefined {
    const entry = this.byKey.get(key);
    return entry?.value === undefined ? undefined : (entry as StateEntry & { value: Encoded });
  }

  /** The latest change of a key, also if that has deleted it. */
  find(key: string): StateEntry | undefined {
    return this.byKey.get(key);
  }

  /** Everything has arrived. */
  filled(): void {
    this.isFilling = false;
    this.forgetSome();
  }

  /** Applies a change whose place is known. */
  put({ key, clock, origin, value, expires, owner }: KeyChange, seq: number): void {
    let entry = this.byKey.get(key);
    if (!entry) {
      const head = `[${JSON.stringify(key)}`;
      entry = { key, head, seq: 0, clock, origin, value: undefined, expires, owner, bytes: 0 };
      this.byKey.set(key, entry);
    } else if (entry.value !== undefined) this.count(entry, -1);
    else this.deleted.delete(key);
    this.seq = seq;
    Object.assign(entry, { seq, clock, origin, value, expires, owner, bytes: keyBytesOf(key, value) });
    if (value !== undefined) this.count(entry, 1);
    else {
      this.deleted.add(key);
      this.forgetSome();
    }
    this.log.push(entry);
    this.seqs.push(seq);
    if (this.log.length > 2 * this.byKey.size + MAX_SUPERSEDED) this.compact();
  }

  /** The entries, deleted ones included, that have changed after a number, in order. */
  *after(seq: number): Generator<StateEntry> {
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
  *present(): Generator<StateEntry & { value: Encoded }> {
    for (const entry of this.after(0)) if (entry.value !== undefined) yield entry as StateEntry & { value: Encoded };
  }

  private count(entry: StateEntry, sign: 1 | -1): void {
    this.size += sign;
    this.bytes += sign * entry.bytes;
  }

  private forgetSome(): void {
    if (this.isFilling) return;
    for (const key of this.deleted) {
      if (this.deleted.size <= this.maxDeleted) return;
      const entry = this.byKey.get(key)!;
      this.deleted.delete(key);
      this.byKey.delete(key);
      this.forgottenSeq = entry.seq;
      this.onForget?.(key, entry.clock);
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

/** Bytes of a key and its value. */
export function keyBytesOf(key: string, value: Encoded | undefined): number {
  return Buffer.byteLength(key) + (value === undefined ? 0 : Buffer.byteLength(value));
}
