import type { Entry } from '../entries.js';
import {
  ABOUT_FIELDS,
  aboutOf,
  decodeStored,
  isNewer,
  kinds,
  lifeName,
  type Meta,
  parseMeta,
  writeChanges,
} from './fields.js';
import type { WritingStore } from './hosts.js';

/** How many keys are read at once, and about how many bytes of their values. */
const SCAN_COUNT = 500;
const PAGE_BYTES = 1_048_576;
const PAGE_KEYS = 1000;

/** What Redis has, by key. */
type Seen = Map<string, Meta>;

/** Compares a room with what Redis has of it: takes what is newer there, and writes what is newer here. */
export class Sync {
  /** What Redis has and this worker has not taken, without knowing that it was deleted: keys, and when they were changed. */
  private left = new Map<string, number>();

  constructor(private readonly store: WritingStore) {}

  /** @param hasWaited whether this is a second look, after what was on its way has arrived */
  async run(hasWaited: boolean): Promise<void> {
    const { store } = this;
    const { room, workers } = store;
    const isFirstTime = !store.isLoaded;
    await this.open();
    if (store.isAnnounceDue) await this.announce();
    const seen = await this.readMetas();
    this.left = new Map([...this.left].filter(([key, clock]) => seen.get(key)?.clock === clock));
    const taken = await this.take(seen);
    // Changes that the other workers do not have either are older than what their clients believe to have.
    if (taken > 0 && (!isFirstTime || store.isFilled)) await this.announce();
    const { seq } = room.entries;
    // What this worker has not read, or had no place for, it has not deleted either.
    if (!isFirstTime) await this.write(this.gone(seen));
    await this.push(seen, store.isOwn);
    store.written = Math.max(store.written, seq);
    store.settle();
    if (!this.lacks(seen)) return;
    // What others have changed may be on its way to Redis, and one worker is enough to write what is not.
    if (workers.isFirst || hasWaited) await this.push(seen, () => true);
    else store.syncLater();
  }

  /** Has all workers compare, and gives clients that return snapshots. */
  async announce(): Promise<void> {
    const { store } = this;
    const { room, about } = store;
    const known = about?.generation ?? 0;
    const reply = await store.run(0, (client) => client.gjallarStateRenew(1, room.keys.room, known));
    store.about = aboutOf(reply);
    store.isAnnounceDue = false;
  }

  private async open(): Promise<void> {
    const { store } = this;
    const { keys } = store.room;
    const about = aboutOf(await store.run(0, (client) => client.hmget(keys.room, ...ABOUT_FIELDS)));
    store.noteAbout(about);
    if (about.life !== undefined) return;
    // A Redis that can only be read has nothing for this worker.
    const reply = await store
      .run(0, (client) => client.gjallarStateOpen(1, keys.room, lifeName()))
      .catch(() => undefined);
    if (reply) store.about = aboutOf(reply);
  }

  private async readMetas(): Promise<Seen> {
    const { store } = this;
    const { keys } = store.room;
    const seen: Seen = new Map();
    let cursor = '0';
    do {
      const [next, fields] = await store.run(0, (client) =>
        client.hscan(keys.room, cursor, 'MATCH', 'm*', 'COUNT', SCAN_COUNT),
      );
      for (let at = 0; at + 1 < fields.length; at += 2) {
        const meta = parseMeta(fields[at + 1]!);
        if (meta) seen.set(fields[at]!.slice(1), meta);
      }
      cursor = next;
    } while (cursor !== '0');
    return seen;
  }

  /** Takes what is newer in Redis. Returns how many keys that are. */
  private async take(seen: Seen): Promise<number> {
    const { room, workers, isLoaded, isFilled } = this.store;
    const { maxValueBytes } = room.settings;
    // The others may have what is later, and it is on its way here.
    const complete = isLoaded || isFilled ? workers.complete() : Number.POSITIVE_INFINITY;
    let wanted: string[] = [];
    let bytes = 0;
    let taken = 0;
    for (const [key, meta] of seen) {
      workers.clock.heard(meta.clock);
      const known = room.entries.find(key);
      if (known && !isNewer(meta, known)) continue;
      if (!known && meta.clock <= room.entries.forgottenClock && !this.isUnread(meta)) {
        // The worker that has given the room to this one knows whether it was deleted.
        if (!isLoaded) this.left.set(key, meta.clock);
        continue;
      }
      if (meta.bytes > maxValueBytes) {
        this.left.set(key, meta.clock);
        continue;
      }
      if (meta.clock > complete) {
        this.store.syncLater();
        continue;
      }
      wanted.push(key);
      bytes += meta.bytes;
      if (wanted.length < PAGE_KEYS && bytes < PAGE_BYTES) continue;
      taken += await this.fetch(wanted);
      wanted = [];
      bytes = 0;
    }
    return taken + (await this.fetch(wanted));
  }

  /**
   * Whether a key that is not here can only be one that this worker has not read. Until a worker has read Redis, or had the room from another one,
   * the deletions that it has forgotten were of keys of its own.
   */
  private isUnread({ kind }: Meta): boolean {
    const { isLoaded, isFilled } = this.store;
    return !isLoaded && !isFilled && kind !== kinds.deleted;
  }

  private async fetch(wanted: readonly string[]): Promise<number> {
    if (wanted.length === 0) return 0;
    const { store } = this;
    const { room, workers } = store;
    const { maxKeys, maxBytes } = room.settings;
    const fields = wanted.flatMap((key) => [`m${key}`, `v${key}`]);
    // Both at once: the value is the one of this time.
    const found = await store.run(0, (client) => client.hmgetBuffer(room.keys.room, ...fields));
    let taken = 0;
    for (const [at, key] of wanted.entries()) {
      const meta = parseMeta(found[2 * at]?.toString() ?? '');
      if (!meta) continue;
      const stored = found[2 * at + 1];
      const value = meta.kind === kinds.deleted || !stored ? undefined : decodeStored(meta.kind, stored);
      const { entries } = room;
      const isFull = entries.size >= maxKeys || entries.bytes + meta.bytes > maxBytes;
      const isRefused = value === undefined || (isFull && !entries.get(key));
      if (meta.kind !== kinds.deleted && isRefused) {
        this.left.set(key, meta.clock);
        continue;
      }
      if (meta.clock <= entries.forgottenClock && !entries.find(key) && this.isUnread(meta)) {
        // With its own time it would count as deleted, here and on other workers.
        room.apply({ key, clock: workers.clock.tick(), origin: workers.node, value });
        workers.noteOwn(room.name);
      } else room.apply({ key, clock: meta.clock, origin: meta.origin, value });
      taken++;
    }
    return taken;
  }

  /** What Redis has, and this worker has deleted so long ago that it has forgotten it. */
  private gone(seen: Seen): Entry[] {
    const { room, workers } = this.store;
    const { entries } = room;
    const clock = entries.forgottenClock;
    const isGone = ([key, meta]: [string, Meta]) =>
      meta.kind !== kinds.deleted && meta.clock <= clock && entries.find(key) === undefined && !this.left.has(key);
    const origin = `${workers.node}~`;
    return [...seen]
      .filter(isGone)
      .map(([key]) => ({ key, head: '', seq: 0, clock, origin, value: undefined, bytes: 0 }));
  }

  private async write(changes: readonly Entry[]): Promise<void> {
    for (let at = 0; at < changes.length; at += PAGE_KEYS) {
      await writeChanges(this.store, changes.slice(at, at + PAGE_KEYS));
    }
  }

  private lacks(seen: Seen): boolean {
    for (const entry of this.store.room.entries.after(0)) if (isLacking(entry, seen)) return true;
    return false;
  }

  /** Writes what Redis lacks, as far as it is wanted. */
  private async push(seen: Seen, isWanted: (entry: Entry) => boolean): Promise<void> {
    const { store } = this;
    const { seq } = store.room.entries;
    const isLackingHere = (entry: Entry) => isWanted(entry) && isLacking(entry, seen);
    for (let from = 0; from < seq; ) {
      const { changes, to } = store.batchAfter(from, isLackingHere);
      if (changes.length > 0) await writeChanges(store, changes);
      for (const { key, clock, origin, value } of changes) {
        seen.set(key, { clock, origin, kind: value === undefined ? kinds.deleted : kinds.json, bytes: 0 });
      }
      from = to;
    }
  }
}

function isLacking(entry: Entry, seen: Seen): boolean {
  const meta = seen.get(entry.key);
  return meta === undefined || isNewer(entry, meta);
}
