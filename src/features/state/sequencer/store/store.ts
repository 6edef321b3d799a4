import { clearTimeout, performance, setTimeout } from '../../../../base/clock.js';
import { own } from '../../../../base/owner.js';
import { within } from '../../../../base/within.js';
import { isNewer, type KeyChange, type StateEntry } from '../../entries.js';
import { MAX_VALUE_BYTES } from '../../values.js';
import type { StoreNews } from '../messages.js';
import { pageOf, type SequencedRoom } from '../room.js';
import type { StoreConnection } from './connection.js';
import type { StoreClient } from './fields.js';
import { decodeStored, encodeMeta, type Meta, markedValue, parseMeta, storedKinds } from './fields.js';

/** After a failure, the room tries again after this time, in ms; after further ones, after twice as long each. */
const RETRY_MS = 1000;
const MAX_RETRY_MS = 4000;
/** The shortest time between two writes of a room, in ms. What is set meanwhile is one write, and each key once. */
const MIN_INTERVAL_MS = 10;
/** How often workers learn at most how far Redis is, in ms. */
const NEWS_MS = 1000;
/** How many changes one write has. */
const BATCH_CHANGES = 1000;
/** How many keys are read at once, and about how many bytes of their values. */
const SCAN_COUNT = 500;
const PAGE_BYTES = 1_048_576;
const PAGE_KEYS = 1000;
/** How long a command that is on its way is waited for at the end, in ms. */
const CLOSE_MS = 2000;
/** Marks of writers that are older are removed, in ms. */
const MAX_MARK_AGE_MS = 86_400_000;

/** What Redis has, by key. */
type Seen = Map<string, Meta>;

interface StoreEvents {
  /** Something in Redis was newer. */
  onChange(): void;
  onNews(news: StoreNews): void;
}

/**
 * Keeps a room in Redis.
 *
 * - The sequencer writes what was changed on its machine. The store is a reader of the room like any other: it costs one number,
 *   `written`, and gets the newest value of each key that it lacks. So nothing queues while Redis is down.
 * - On each new connection it compares: it takes what is newer in Redis, and writes what is newer here. That loads the room when
 *   a server starts, and fills a Redis that was emptied.
 * - Each write leaves a mark, and learns of the one before. If that is older, Redis has lost something, and the store compares again.
 * - At most one command is on its way. While Redis does not answer, nothing more is sent.
 */
export class RoomStore {
  written = 0;
  down: string | undefined;
  readonly loaded: Promise<void>;
  private onLoaded = (): void => {};
  private isLoaded = false;
  /** The mark of the last write; 0 for none. A write without an answer may have left a later one. */
  private mark = 0;
  /** Up to this time, everything in Redis was here. */
  private knownUpTo = -1;
  /** What is in Redis and was left there because of the bounds: keys, and when they were changed. */
  private left = new Map<string, number>();
  /** Deletions that are forgotten here and remembered in Redis. */
  private forgotten = new Map<string, number>();
  private isSyncDue = false;
  private isWorking = false;
  private isClosed = false;
  private isClosing = false;
  private working: Promise<void> = Promise.resolve();
  private failures = 0;
  private command: Promise<unknown> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private lastWrite = Number.NEGATIVE_INFINITY;
  private lastNews = Number.NEGATIVE_INFINITY;
  private told = 0;
  private losses = 0;
  private waiting: { readonly seq: number; resolve(): void }[] = [];

  /**
   * @param node names the sequencer
   * @param key of the hash
   */
  constructor(
    private readonly room: SequencedRoom,
    private readonly node: string,
    private readonly key: string,
    private readonly connection: StoreConnection,
    private readonly events: StoreEvents,
  ) {
    this.loaded = new Promise((resolve) => {
      this.onLoaded = resolve;
    });
    room.entries.onForget = (name, clock) => {
      this.forgotten.set(name, clock);
      if (this.forgotten.size <= room.bounds.maxKeys) return;
      // Comparing finds them.
      this.forgotten.clear();
      this.isSyncDue = true;
    };
    connection.add(this);
    this.syncSoon();
  }

  get unwritten(): number {
    let count = 0;
    for (const entry of this.room.entries.after(this.written)) if (this.isOwn(entry)) count++;
    return count;
  }

  stored(): Promise<void> {
    if (this.isClosing || (this.isLoaded && this.unwritten === 0)) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push({ seq: this.room.entries.seq, resolve }));
  }

  changed(): void {
    if (this.isLoaded) this.work();
  }

  /** The connection is there again: Redis may be another one. */
  onReady(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.syncSoon();
  }

  syncSoon(): void {
    this.isSyncDue = true;
    this.work();
  }

  /** Looks whether Redis still has what it had. */
  check(): void {
    // After a failure, the next attempt is due already.
    if (this.isWorking || this.isClosing || this.down !== undefined) return;
    if (this.isSyncDue || !this.isLoaded) return this.syncSoon();
    this.start(() => this.readMark());
  }

  private async readMark(): Promise<void> {
    const [mark] = await this.run(0, (client) => client.hmget(this.key, this.markField));
    this.found(mark);
  }

  /** Notes the mark that Redis has. If it is older than that of the last write, the store compares again. */
  private found(given: string | null | undefined): void {
    const mark = Number(given ?? 0);
    if (mark < this.mark) {
      this.losses++;
      this.isSyncDue = true;
    }
    this.mark = mark;
  }

  /** Resolves with how many changes Redis does not have. */
  async close(): Promise<number> {
    if (this.isClosing) return 0;
    this.isClosing = true;
    clearTimeout(this.timer);
    try {
      await within(CLOSE_MS, this.working);
      if (this.isLoaded) while (this.unwritten > 0) await this.write();
    } catch {
      // What is left is counted.
    }
    const { unwritten } = this;
    this.isClosed = true;
    this.onLoaded();
    for (const { resolve } of this.waiting.splice(0)) resolve();
    this.room.entries.onForget = undefined;
    this.connection.remove(this);
    return unwritten;
  }

  private readonly isOwn = (entry: StateEntry): boolean => this.room.isOwn(entry);

  private get markField(): string {
    return `w${this.node}`;
  }

  /** Does what is due, one thing after the other. */
  private work(): void {
    if (this.isWorking || this.isClosing || this.timer || this.connection.isConnecting) return;
    if (this.isSyncDue) {
      this.isSyncDue = false;
      return this.start(() => this.sync());
    }
    if (!this.isLoaded || this.room.entries.seq === this.written) return;
    const wait = this.lastWrite + MIN_INTERVAL_MS - performance.now();
    if (wait > 0) return this.later(wait);
    this.start(() => this.write());
  }

  private start(task: () => Promise<void>): void {
    this.working = this.turn(task);
    own('storing a state room', this.working);
  }

  private async turn(task: () => Promise<void>): Promise<void> {
    this.isWorking = true;
    try {
      await task();
      this.failures = 0;
      const wasDown = this.down !== undefined;
      this.down = undefined;
      this.settle();
      const isDue = this.written !== this.told && performance.now() - this.lastNews > NEWS_MS;
      if (wasDown || this.losses > 0 || isDue) this.tell();
    } catch (error) {
      if (this.isClosing) return;
      this.down = (error as Error).message;
      this.tell();
      // Redis may return with less than it had.
      this.isSyncDue = true;
      this.later(Math.min(RETRY_MS * 2 ** this.failures++, MAX_RETRY_MS));
    } finally {
      this.isWorking = false;
    }
    this.work();
  }

  private later(ms: number): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.work();
    }, ms).unref();
  }

  private tell(): void {
    const { written, down, losses } = this;
    this.told = written;
    this.lastNews = performance.now();
    this.losses = 0;
    this.events.onNews({ written, down, losses });
  }

  private settle(): void {
    const { written } = this;
    this.waiting = this.waiting.filter(({ seq, resolve }) => {
      if (seq > written || this.isSyncDue) return true;
      resolve();
      return false;
    });
  }

  /** Sends a command. While the last one has no answer, it rejects. */
  private async run<T>(bytes: number, command: (client: StoreClient) => Promise<T>): Promise<T> {
    if (this.isClosed) throw new Error('the room is closed');
    if (this.command) throw new Error('Redis does not answer');
    const { answer, end } = this.connection.run(bytes, command);
    this.command = end;
    const ended = end.then(() => {
      if (this.command === end) this.command = undefined;
    });
    const result = await answer;
    await ended;
    return result;
  }

  private async write(): Promise<void> {
    const { entries } = this.room;
    const { changes, next = entries.seq } = pageOf(entries, this.written, this.isOwn, BATCH_CHANGES);
    if (changes.length > 0 || this.forgotten.size > 0) {
      this.lastWrite = performance.now();
      await this.writeChanges(changes);
    }
    this.written = next;
  }

  private async writeChanges(changes: readonly KeyChange[], forgotten = [...this.forgotten]): Promise<void> {
    const mark = Math.max(Date.now(), this.mark + 1);
    const args: (string | number | Buffer)[] = [this.key, this.markField, mark, forgotten.length, ...forgotten.flat()];
    let bytes = 0;
    for (const change of changes) {
      const { key, clock, origin, value } = change;
      args.push(key, clock, origin, encodeMeta(change), markedValue(value));
      bytes += key.length + (value?.length ?? 0);
    }
    this.found(await this.run(bytes, (client) => client.gjallarStateWrite(1, ...args)));
    this.mark = mark;
    // What was written was here.
    for (const { clock } of changes) this.knownUpTo = Math.max(this.knownUpTo, clock);
    for (const [key, clock] of forgotten) if (this.forgotten.get(key) === clock) this.forgotten.delete(key);
  }

  /** Takes what is newer in Redis, and writes what is newer here. */
  private async sync(): Promise<void> {
    const { entries } = this.room;
    const { seq } = entries;
    await this.readMark();
    this.isSyncDue = false;
    const seen = await this.readMetas();
    await this.take(seen);
    this.isLoaded = true;
    this.onLoaded();
    const gone = [...seen].filter(([key, { kind }]) => kind === storedKinds.deleted && !entries.find(key));
    for (const [key, { clock }] of gone) this.forgotten.set(key, clock);
    for (let from = 0; from < entries.seq; ) {
      const { changes, next = entries.seq } = pageOf(entries, from, (entry) => isLacking(entry, seen), BATCH_CHANGES);
      if (changes.length > 0) await this.writeChanges(changes, []);
      from = next;
    }
    // The mark, and the deletions that are forgotten here.
    do {
      await this.writeChanges([], [...this.forgotten].slice(0, PAGE_KEYS));
    } while (this.forgotten.size > 0);
    this.written = Math.max(this.written, seq);
  }

  private async readMetas(): Promise<Seen> {
    const seen: Seen = new Map();
    const old: string[] = [];
    let cursor = '0';
    do {
      const [next, fields] = await this.run(0, (client) =>
        client.hscan(this.key, cursor, 'MATCH', '[mw]*', 'COUNT', SCAN_COUNT),
      );
      for (let at = 0; at + 1 < fields.length; at += 2) {
        const [field, text] = [fields[at]!, fields[at + 1]!];
        const meta = field.startsWith('m') ? parseMeta(text) : undefined;
        if (meta) seen.set(field.slice(1), meta);
        if (field.startsWith('w') && Number(text) < Date.now() - MAX_MARK_AGE_MS) old.push(field);
      }
      cursor = next;
    } while (cursor !== '0');
    if (old.length > 0) await this.run(0, (client) => client.hdel(this.key, ...old));
    return seen;
  }

  /** Takes what is newer in Redis. */
  private async take(seen: Seen): Promise<void> {
    const { room } = this;
    const left = new Map<string, number>();
    let latest = this.knownUpTo;
    let wanted: string[] = [];
    let bytes = 0;
    for (const [key, meta] of seen) {
      latest = Math.max(latest, meta.clock);
      const known = room.entries.find(key);
      if (known ? !isNewer(meta, known) : meta.kind === storedKinds.deleted) continue;
      if (meta.bytes > MAX_VALUE_BYTES || this.left.get(key) === meta.clock) {
        left.set(key, meta.clock);
        continue;
      }
      wanted.push(key);
      bytes += meta.bytes;
      if (wanted.length < PAGE_KEYS && bytes < PAGE_BYTES) continue;
      await this.fetch(wanted, left);
      wanted = [];
      bytes = 0;
    }
    await this.fetch(wanted, left);
    this.left = left;
    this.knownUpTo = latest;
    this.events.onChange();
  }

  private async fetch(wanted: readonly string[], left: Map<string, number>): Promise<void> {
    if (wanted.length === 0) return;
    const fields = wanted.flatMap((key) => [`m${key}`, `v${key}`]);
    // Both at once: the value is the one of this time.
    const found = await this.run(0, (client) => client.hmgetBuffer(this.key, ...fields));
    for (const [at, key] of wanted.entries()) {
      const meta = parseMeta(found[2 * at]?.toString() ?? '');
      if (!meta) continue;
      const { clock, origin, kind, expires } = meta;
      const stored = found[2 * at + 1];
      const value = kind === storedKinds.deleted || !stored ? undefined : decodeStored(kind, stored);
      const isNone = kind !== storedKinds.deleted && value === undefined;
      // What was left has not been here, so it was not deleted either.
      const wasHere = clock <= this.knownUpTo && !this.left.has(key);
      const change = { key, clock, origin, value, expires };
      if (isNone || this.room.merge(change, wasHere, 1) === 'left') left.set(key, clock);
    }
  }
}

function isLacking(entry: StateEntry, seen: Seen): boolean {
  const meta = seen.get(entry.key);
  return meta === undefined ? entry.value !== undefined : isNewer(entry, meta);
}
