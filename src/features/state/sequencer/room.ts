import { isDeepStrictEqual } from 'node:util';
import { performance } from '../../../base/clock.js';
import type { ErrorCode } from '../../../base/errors.js';
import { Entries, isNewer, type KeyChange, keyBytesOf, type StateEntry } from '../entries.js';
import { type Encoded, MAX_PATCH_BYTES, MAX_VALUE_BYTES, patchedValue } from '../values.js';
import { type HybridClock, newEpoch } from '../version.js';
import type { Digest, NumberedChange, StateBounds } from './messages.js';

/** What other machines change is accepted up to this multiple of the bounds. */
const MAX_OVER = 4;
/** Approximate size of one message. */
const PAGE_BYTES = 262_144;
/** Of how many sequencers a room knows what it has had of them. Each start of a hub makes a further one. */
const MAX_KNOWN = 64;
/** Without a change for so long, a room is quiet, in ms. */
const QUIET_MS = 1000;

/** Of all names of sequencers, it comes before; a name that begins with the other one comes behind. */
const OLDER = '-';
const NEWER = '~';

/** Changes after a number, and the number after which the next page begins. */
export interface EntryPage {
  readonly changes: readonly NumberedChange[];
  readonly next?: number;
}

/**
 * The entries of a room after a number that are wanted, up to about the size of a message.
 * @param most how many at most
 */
export function pageOf(
  entries: Entries,
  after: number,
  isWanted: (entry: StateEntry) => boolean = () => true,
  most = Number.POSITIVE_INFINITY,
): EntryPage {
  const changes: NumberedChange[] = [];
  let bytes = 0;
  for (const entry of entries.after(after)) {
    if (!isWanted(entry)) continue;
    bytes += entry.bytes;
    if (changes.length >= most || (changes.length > 0 && bytes > PAGE_BYTES)) return { changes, next: entry.seq - 1 };
    const { key, clock, origin, value, expires, owner, seq } = entry;
    changes.push({ key, clock, origin, value, expires, owner, seq });
  }
  return { changes };
}

/** A state room in the sequencer: gives each change its number. */
export class SequencedRoom {
  readonly entries: Entries;
  readonly epoch = newEpoch();
  /** Changes that were dropped because of the bounds. */
  dropped = 0;
  private changedAt = 0;
  /** The latest time of a change of this machine. */
  private latest = 0;
  /** Up to these times, all changes of other sequencers have been here. */
  private readonly known = new Map<string, number>();
  private digested: { readonly seq: number; readonly sum: number } | undefined;

  /** @param node names the sequencer, uniquely in the cluster and over time */
  constructor(
    readonly name: string,
    readonly bounds: StateBounds,
    private readonly node: string,
    private readonly clock: HybridClock,
    /** Called after each change. */
    private readonly onChange: (room: SequencedRoom, entry: StateEntry) => void,
  ) {
    this.entries = new Entries(bounds.maxKeys);
  }

  /**
   * A worker changes a key. The change has the time at which it was made: this hub may get it after a later one of another machine,
   * which then stays. It is dropped, too, if the room is far over its bounds.
   */
  set({ key, clock: madeAt, value, expires, owner }: KeyChange): void {
    const { entries, node: origin } = this;
    if (value === undefined && entries.get(key) === undefined && !entries.isFilling) return;
    // In the order of this machine.
    const clock = Math.max(madeAt, this.latest + 1);
    const change = { key, clock, origin, value, expires, owner };
    this.clock.heard(clock);
    const before = entries.find(key);
    if ((before && !isNewer(change, before)) || !this.hasPlace(key, value, MAX_OVER)) return;
    this.put(change);
  }

  /** A worker has a key that it owns. It may have been deleted because the worker seemed to be gone. */
  setAgain(change: KeyChange): void {
    const before = this.entries.get(change.key);
    if (!before || isNewer(change, before)) this.set(change);
  }

  /** Changes some fields of a key. Returns the code of an error. */
  patch({ key, value, origin }: KeyChange): ErrorCode | undefined {
    const before = this.entries.get(key);
    const patched = patchedValue(before?.value, value!);
    if (typeof patched !== 'object') return patched;
    // A key with an owner is that of the worker that has changed it last.
    return this.replace(key, patched.value, before?.expires, before?.owner && origin);
  }

  /** Sets a key if it has the expected value. Returns whether it does, or the code of an error. */
  compareAndSet(expected: KeyChange, { key, value, expires, owner }: KeyChange): boolean | ErrorCode {
    const before = this.entries.get(key)?.value;
    if (!isSame(before, expected.value)) {
      // A short request must not have values of a megabyte parsed.
      for (const one of [before, expected.value])
        if (one && keyBytesOf('', one) > MAX_PATCH_BYTES) return 'STATE_PATCH_SIZE';
      if (!isEqual(before, expected.value)) return false;
    }
    if (value === undefined && before === undefined) return true;
    return this.replace(key, value, expires, owner) ?? true;
  }

  private replace(
    key: string,
    value: Encoded | undefined,
    expires: number | undefined,
    owner: string | undefined,
  ): ErrorCode | undefined {
    if (value !== undefined && keyBytesOf('', value) > MAX_VALUE_BYTES) return 'BAD_STATE_VALUE';
    if (!this.hasPlace(key, value, 1)) return 'STATE_FULL';
    this.put({ key, clock: this.clock.tick(), origin: this.node, value, expires, owner });
    return undefined;
  }

  /** Deletes a key whose time is over. */
  expire(key: string): void {
    this.put({ key, clock: this.clock.tick(), origin: this.node, value: undefined });
  }

  /** A worker of this machine is gone. */
  ownerGone(owner: string): void {
    for (const entry of [...this.entries.present()]) if (entry.owner === owner) this.expire(entry.key);
  }

  /**
   * Another machine is gone, or cannot be reached: its owners' keys are not here. For the others, and when it is back, what it has
   * is newer than this.
   */
  machineGone(origin: string): void {
    for (const { key, clock, owner, origin: madeBy } of [...this.entries.present()]) {
      if (owner !== undefined && madeBy === origin) this.put({ key, clock, origin: OLDER, value: undefined });
    }
  }

  /**
   * Takes what another machine, a worker or Redis has, if it is newer.
   * @param wasHere whether the change has been here: if its key is unknown, it was deleted since
   * @param maxOver what exceeds this multiple of the bounds is left
   * @returns whether it was taken, or left because of the bounds
   */
  merge(change: KeyChange, wasHere: boolean, maxOver = MAX_OVER): 'taken' | 'left' | 'older' {
    const { entries } = this;
    const { key, value, clock } = change;
    this.clock.heard(clock);
    const before = entries.find(key);
    if (before && !isNewer(change, before)) return 'older';
    if (!this.hasPlace(key, value, maxOver)) return 'left';
    // Of a key with an owner, its machine alone tells, and while it has it.
    if (before || change.owner || clock > entries.forgottenClock) this.put(change);
    else if (value === undefined) return 'older';
    // Its deletion is forgotten here: the other side learns of it again, and keeps what was set later.
    else if (wasHere) this.put({ key, clock, origin: `${NEWER}${this.node}`, value: undefined });
    else this.put(change);
    return 'taken';
  }

  /** Whether a change is of this machine alone: other machines and Redis learn of it from here. */
  isOwn({ origin }: Pick<KeyChange, 'origin'>): boolean {
    return origin === this.node || origin === `${NEWER}${this.node}`;
  }

  /** Up to which times all changes have been here, by the sequencer that made them. */
  get knownUpTo(): Map<string, number> {
    return new Map(this.known).set(this.node, this.latest);
  }

  /** All changes of a sequencer up to a time have been here. */
  hasKnown(origin: string, clock: number): void {
    if (origin === this.node || origin.startsWith(NEWER)) return;
    const latest = Math.max(clock, this.known.get(origin) ?? 0);
    // The ones that changed something last are at the end.
    this.known.delete(origin);
    this.known.set(origin, latest);
    if (this.known.size > MAX_KNOWN) this.known.delete(this.known.keys().next().value!);
  }

  /** A number and a sum of what it has, the same wherever the same is. */
  digest(): Digest {
    const { entries } = this;
    if (this.digested?.seq !== entries.seq) {
      let sum = 0;
      for (const { key, clock, origin } of entries.present()) sum = (sum + hashOf(`${clock} ${origin} ${key}`)) >>> 0;
      this.digested = { seq: entries.seq, sum };
    }
    return [this.name, entries.size, this.digested.sum, performance.now() - this.changedAt > QUIET_MS, this.epoch];
  }

  private hasPlace(key: string, value: Encoded | undefined, times: number): boolean {
    if (value === undefined) return true;
    const { entries, bounds } = this;
    const before = entries.get(key);
    const growth = keyBytesOf(key, value) - (before?.bytes ?? 0);
    const fits =
      (before !== undefined || entries.size < times * bounds.maxKeys) &&
      (growth <= 0 || entries.bytes + growth <= times * bounds.maxBytes);
    if (!fits && times > 1) this.dropped++;
    return fits;
  }

  private put(change: KeyChange): void {
    if (change.origin === this.node) this.latest = Math.max(this.latest, change.clock);
    this.entries.put(change, this.entries.seq + 1);
    this.changedAt = performance.now();
    this.onChange(this, this.entries.find(change.key)!);
  }
}

function isSame(one: Encoded | undefined, other: Encoded | undefined): boolean {
  return Buffer.isBuffer(one) && Buffer.isBuffer(other) ? one.equals(other) : one === other;
}

/** As JSON: the order of fields does not matter. */
function isEqual(one: Encoded | undefined, other: Encoded | undefined): boolean {
  if (typeof one !== 'string' || typeof other !== 'string') return false;
  try {
    return isDeepStrictEqual(JSON.parse(one), JSON.parse(other));
  } catch {
    // They are nested too deeply.
    return false;
  }
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
