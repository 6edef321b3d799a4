import { own } from '../../base/owner.js';
import { within } from '../../base/within.js';
import type { Entry } from '../entries.js';
import type { ConnectedRoom, StoreConnection } from './connection.js';
import { ABOUT_FIELDS, type About, aboutOf, markOf, writeChanges } from './fields.js';
import type { StoredRoom, StoreWorkers, WritingStore } from './hosts.js';
import type { StoreClient } from './scripts.js';
import { Sync } from './sync.js';

/** After a failure, the room tries again after this time, in ms; after further ones, after twice as long each. */
const RETRY_MS = 1000;
const MAX_RETRY_MS = 4000;
/** The shortest time between two writes of a room, in ms. What is set meanwhile is one write, and each key once. */
const MIN_INTERVAL_MS = 10;
/** Approximate size of one write. */
const BATCH_BYTES = 262_144;
const BATCH_CHANGES = 1000;
/** Another worker's change may still be on its way to this worker or to Redis. After this time it is not, in ms. */
const RECHECK_MS = 2000;

/**
 * Keeps a room in Redis.
 *
 * - Each worker writes its own changes. The store is a reader of the room like any other: it costs one number, `written`,
 *   and gets the newest value of each key that it lacks. So nothing queues while Redis is down.
 * - When a connection is there, the worker compares what it has with what Redis has ({@link Sync}), takes what it lacks, and
 *   writes what Redis lacks. That loads the room when a server starts, and fills a Redis that was emptied.
 * - Redis has a name for the life of the room, and counts writes and comparisons. If they do not go on where they were,
 *   Redis has lost something, and all workers compare again.
 * - At most one command is on its way. While Redis does not answer, nothing more is sent.
 */
export class RoomStore implements ConnectedRoom, WritingStore {
  /** The number of the change up to which this worker's own changes are in Redis. */
  written = 0;
  /** Whether this worker has read everything that Redis had, once. */
  isLoaded = false;
  about: About | undefined;
  /** Whether another worker has given the room to this one when it was opened. */
  isFilled = false;
  /** Whether the other workers have to compare too. */
  isAnnounceDue = false;
  private hasBegun = false;
  private failures = 0;
  private isSyncDue = false;
  private hasWaited = false;
  private isWorking = false;
  private isClosed = false;
  private command: Promise<unknown> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private recheck: NodeJS.Timeout | undefined;
  private lastWrite = Number.NEGATIVE_INFINITY;
  private waiting: { readonly seq: number; resolve(): void }[] = [];
  private onLoaded: (() => void)[] = [];
  private readonly sync: Sync;

  constructor(
    readonly room: StoredRoom,
    readonly workers: StoreWorkers,
    private readonly connection: StoreConnection,
  ) {
    this.sync = new Sync(this);
    connection.add(this);
  }

  get name(): string {
    return this.room.name;
  }

  /** Names what this worker has read of Redis. Undefined before it has: versions of clients are then good for nothing. */
  get mark(): string | undefined {
    return this.isLoaded ? markOf(this.about) : undefined;
  }

  /** This worker's changes that are not in Redis yet, each key once. */
  get unwritten(): number {
    let count = 0;
    for (const { origin } of this.room.entries.after(this.written)) if (origin === this.workers.node) count++;
    return count;
  }

  get isStored(): boolean {
    return this.isLoaded && this.unwritten === 0;
  }

  /** Begins to read, now that the room has what the other workers had. */
  begin(isFilled: boolean): void {
    this.isFilled = isFilled;
    this.hasBegun = true;
    this.syncSoon();
  }

  /** Resolves once this worker has read everything, or after a time. */
  loaded(maxWaitMs: number): Promise<void> {
    if (this.isLoaded) return Promise.resolve();
    return within(maxWaitMs, new Promise<void>((resolve) => this.onLoaded.push(resolve)));
  }

  /** Resolves once what this worker has changed until now is in Redis. */
  stored(): Promise<void> {
    if (this.isClosed || this.isStored) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push({ seq: this.room.entries.seq, resolve }));
  }

  /** The room has changed. */
  changed(): void {
    if (this.isLoaded) this.work();
  }

  onReady(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.syncSoon();
  }

  /** Workers may have left without writing what they had changed. */
  onGone(): void {
    if (this.workers.isFirst) this.syncSoon();
  }

  syncSoon(): void {
    this.isSyncDue = true;
    this.work();
  }

  /** Compares again once what was on its way, to this worker or to Redis, has arrived. */
  syncLater(): void {
    this.recheck ??= setTimeout(() => {
      this.recheck = undefined;
      this.hasWaited = true;
      this.syncSoon();
    }, RECHECK_MS).unref();
  }

  check(): void {
    // After a failure, the next attempt is due already.
    if (this.isWorking || this.isClosed || this.connection.health.isFailing(this)) return;
    if (this.isSyncDue || !this.isLoaded) return this.syncSoon();
    this.start(async () => {
      const { keys } = this.room;
      this.noteAbout(aboutOf(await this.run(0, (client) => client.hmget(keys.room, ...ABOUT_FIELDS))));
    });
  }

  /** Resolves once what was set last is written, or Redis does not take it now. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    const { changes } = this.batchAfter(this.written, this.isOwn);
    const canWrite = this.isLoaded && !this.command && changes.length > 0;
    const isDown = !this.isLoaded || this.connection.health.isFailing(this);
    // Without an outage, a command that has no answer yet may have what is not written.
    let unwritten = isDown ? this.unwritten : 0;
    const last =
      canWrite &&
      writeChanges(this, changes).then(
        () => Math.max(0, unwritten - changes.length),
        () => Math.max(unwritten, changes.length),
      );
    this.isClosed = true;
    clearTimeout(this.timer);
    clearTimeout(this.recheck);
    for (const { resolve } of this.waiting.splice(0)) resolve();
    if (last) unwritten = await last;
    this.connection.remove(this, unwritten);
  }

  readonly isOwn = ({ origin }: Entry): boolean => origin === this.workers.node;

  /** The entries after a number that are wanted, until they are enough for one write. */
  batchAfter(seq: number, isWanted: (entry: Entry) => boolean): { changes: Entry[]; to: number } {
    const changes: Entry[] = [];
    let bytes = 0;
    for (const entry of this.room.entries.after(seq)) {
      if (!isWanted(entry)) continue;
      if (changes.length >= BATCH_CHANGES || (changes.length > 0 && bytes + entry.bytes > BATCH_BYTES)) {
        return { changes, to: changes.at(-1)!.seq };
      }
      changes.push({ ...entry });
      bytes += entry.bytes;
    }
    return { changes, to: this.room.entries.seq };
  }

  /** Sends a command. While the last one has no answer, it rejects. */
  async run<T>(bytes: number, command: (client: StoreClient) => Promise<T>): Promise<T> {
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

  /** Takes what Redis says of the room, and notices what it has lost. */
  noteAbout(about: About): void {
    const known = this.about;
    this.about = about;
    this.workers.clock.heard(about.forgotten);
    if (!known || !this.isLoaded) return;
    const isLost = known.life !== undefined && (about.life !== known.life || about.count < known.count);
    if (isLost) {
      this.connection.lost(this.name);
      // Where the life is another one, the others see it.
      this.isAnnounceDue ||= about.life === known.life;
    }
    if (isLost || about.life !== known.life || about.generation !== known.generation) this.isSyncDue = true;
  }

  countWritten(count: number): void {
    this.connection.written += count;
  }

  /** Does what is due, one thing after the other. */
  private work(): void {
    if (this.isWorking || this.isClosed || this.timer || !this.hasBegun || this.connection.isConnecting) return;
    if (this.isSyncDue) {
      this.isSyncDue = false;
      const { hasWaited } = this;
      this.hasWaited = false;
      this.start(async () => {
        await this.sync.run(hasWaited);
        this.loadedNow();
      });
      return;
    }
    const { seq, forgottenSeq } = this.room.entries;
    if (!this.isLoaded || seq === this.written) return;
    // Deletions that are forgotten already are found by comparing.
    if (forgottenSeq > this.written) return this.syncSoon();
    const wait = this.lastWrite + MIN_INTERVAL_MS - performance.now();
    if (wait > 0) return this.later(wait);
    this.start(() => this.write());
  }

  private async write(): Promise<void> {
    const { changes, to } = this.batchAfter(this.written, this.isOwn);
    if (changes.length > 0) {
      this.lastWrite = performance.now();
      await writeChanges(this, changes);
    }
    this.written = to;
    this.settle();
  }

  /** Resolves what waits for changes up to a number. */
  settle(): void {
    if (this.waiting.length === 0) return;
    const { written } = this;
    this.waiting = this.waiting.filter(({ seq, resolve }) => {
      if (seq > written) return true;
      resolve();
      return false;
    });
  }

  private start(task: () => Promise<void>): void {
    own('storing a state room', this.turn(task));
  }

  private async turn(task: () => Promise<void>): Promise<void> {
    const { health } = this.connection;
    this.isWorking = true;
    try {
      await task();
      this.failures = 0;
      if (health.isFailing(this)) {
        health.works(this);
        this.room.onStore(true, '');
      }
    } catch (error) {
      if (this.isClosed) return;
      const { message } = error as Error;
      const wasFailing = health.isFailing(this);
      health.failed(this, message);
      if (!wasFailing) this.room.onStore(false, message);
      // Redis may return with less than it had, and workers may leave meanwhile.
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

  private loadedNow(): void {
    this.isLoaded = true;
    for (const resolve of this.onLoaded.splice(0)) resolve();
    this.settle();
  }
}
