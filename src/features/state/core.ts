import type { Namespace } from 'socket.io';
import { delay, setImmediate } from '../../base/clock.js';
import { joinTexts } from '../../base/names.js';
import { own } from '../../base/owner.js';
import { within } from '../../base/within.js';
import type { Outbox } from '../../engine/delivery/outbox.js';
import { Engine } from '../../engine/engine.js';
import { privateParts } from '../../io/socket-io-server.private.js';
import { bytesOf, type Change, changeOf, Entries, type Entry } from './entries.js';
import { type Chunk, type StateFormat, takeChunk } from './members/format.js';
import { type Member, Members, type MembersHost } from './members/members.js';
import type { SequencerClient } from './replica/client.js';
import { Overlay } from './replica/overlay.js';
import type { NumberedChange, RoomBounds, StoreNews, ToSequencer, ToWorker } from './sequencer/messages.js';
import { pageOf } from './sequencer/room.js';
import type { StoreAddress } from './sequencer/store/address.js';
import type { Encoded } from './values.js';
import { type ClientVersion, encodeVersion, HybridClock, parseVersion, UNITS_PER_MS } from './version.js';

/** Approximate size of what is published in one window. More waits for the next. */
const PUBLISH_BYTES = 262_144;
/** How often the hub is asked at most for clients that name a later version than this worker has, in ms. */
const JOIN_MS = 50;
/** How long a hub that has ended is waited for, in ms. */
const MAX_CATCH_UP_MS = 2000;

export interface RoomSettings {
  readonly id: string;
  readonly bounds: RoomBounds;
  readonly store: StoreAddress | undefined;
}

interface RoomEvents {
  /** Keys have changed in a window. */
  onChange(keys: () => string[]): void;
  onStore(news: StoreNews): void;
}

/** The state of a room on this worker: its entries, what its topic has of them, and its members. */
export class RoomCore implements MembersHost {
  entries: Entries;
  readonly overlay: Overlay;
  readonly members: Members;
  /** Unique among the rooms of all namespaces. */
  readonly id: string;
  /** What the names of its topics begin with. */
  private readonly topic: string;
  published = 0;
  /** Changes since the start. */
  changes = 0;
  private changedBytes = 0;
  private epoch = '';
  /** What comes of a room whose first page has come: it takes the place of what is here. */
  private arriving: { readonly epoch: string; readonly entries: Entries } | undefined;
  private readonly clock = new HybridClock();
  /** Up to this number, Redis has everything. */
  private written = 0;
  /** Keys that this worker has changed, and Redis may not have. */
  private readonly changed = new Set<string>();
  private isReady = false;
  private waiting: (() => void)[] = [];
  private isHeld = false;
  private isClosed = false;
  private soon: Promise<void> | undefined;
  private shared: { outbox: Outbox; hold: () => void } | undefined;

  constructor(
    private readonly nsp: Namespace,
    name: string,
    private readonly client: SequencerClient,
    private readonly settings: RoomSettings,
    private readonly events: RoomEvents,
  ) {
    this.id = settings.id;
    this.topic = joinTexts('state', nsp.name, name);
    this.entries = new Entries(settings.bounds.maxKeys);
    this.overlay = new Overlay(this.entries);
    this.members = new Members(this);
    client.add(this);
  }

  private get engine(): Engine | undefined {
    const { engine } = privateParts(this.nsp.server);
    return engine instanceof Engine ? engine : undefined;
  }

  get outbox(): Outbox | undefined {
    return this.engine?.outbox;
  }

  get changeBytes(): number {
    return this.changedBytes / Math.max(1, this.changes);
  }

  get compressFrom(): number | undefined {
    return this.engine?.settings.perMessageDeflate?.threshold;
  }

  versionAt(seq: number): string {
    // A member that is behind has had less than what is here now.
    const timeMs = seq >= this.published ? Date.now() : this.timeAt(seq);
    return encodeVersion({ epoch: this.epoch || '-', number: seq, timeMs });
  }

  topicOf({ name }: StateFormat): string {
    return this.topic + name;
  }

  /** Adds a member, which continues from a version if that is possible. */
  join(member: Member, given: unknown): void {
    const version = parseVersion(given);
    member.isReady = false;
    this.members.add(member);
    const serve = () => {
      if (member.isGone) return;
      if (version?.epoch === this.epoch && version.number <= this.entries.seq) {
        member.seq = Math.min(version.number, this.published);
      }
      member.isReady = true;
      this.members.serveSoon();
    };
    this.whenReady(() => {
      if (version && version.epoch !== this.epoch && !this.client.isLocal) {
        return own('asking the hub about a client', this.continueFrom(member, version).then(serve));
      }
      // The client comes from a worker that was a moment ahead.
      if (version?.epoch === this.epoch && version.number > this.entries.seq)
        own('catching up with the hub', this.caughtUpSoon().then(serve));
      else serve();
    });
  }

  /** A client comes from another machine. */
  private async continueFrom(member: Member, { epoch, timeMs: time }: ClientVersion): Promise<void> {
    const { epoch: before } = this;
    const reply = await within(MAX_CATCH_UP_MS, this.client.ask(this, { type: 'continue', epoch, time }));
    const { from } = reply ?? {};
    if (from !== undefined && this.epoch === before) member.seq = Math.min(from, this.published);
  }

  /** A time at which a member that is at a number had it. */
  private timeAt(seq: number): number {
    for (const entry of this.entries.after(seq)) return Math.floor(entry.clock / UNITS_PER_MS);
    return Date.now();
  }

  /** Calls back once everything is here, or the room is closed. */
  whenReady(listener: () => void): void {
    if (this.isReady || this.isClosed) listener();
    else this.waiting.push(listener);
  }

  /** Sets a key, or deletes it. */
  change(key: string, value: Encoded | undefined, expires?: number): void {
    const change = this.newChange(key, value, expires);
    // In one process, the answer comes within the call.
    this.overlay.add(change, this.client.nextNumber);
    this.client.change(this, change);
  }

  /** Changes fields of a key. */
  async patch(key: string, fields: string, patched: string): Promise<void> {
    this.overlay.add(this.newChange(key, patched), this.client.nextNumber);
    await this.client.ask(this, { type: 'patch', changes: [this.newChange(key, fields)] });
  }

  async compareAndSet(
    key: string,
    expected: Encoded | undefined,
    value: Encoded | undefined,
    expires?: number,
  ): Promise<boolean> {
    const changes = [this.newChange(key, expected), this.newChange(key, value, expires)] as const;
    const { isDone } = await this.client.ask(this, { type: 'compareAndSet', changes });
    return isDone === true;
  }

  async caughtUp(): Promise<void> {
    if (!this.isClosed) await within(MAX_CATCH_UP_MS, this.client.caughtUp(this));
  }

  /** The same for many clients, which may name any version. */
  private caughtUpSoon(): Promise<void> {
    this.soon ??= delay(JOIN_MS).then(() => {
      this.soon = undefined;
      return this.caughtUp();
    });
    return this.soon;
  }

  /** Keys that this worker has changed and that are not stored yet. */
  get unstored(): number {
    for (const key of this.changed) {
      const { seq } = this.entries.find(key) ?? { seq: 0 };
      if (seq <= this.written && !this.overlay.has(key)) this.changed.delete(key);
    }
    return this.changed.size;
  }

  /** Resolves once everything is stored. */
  async stored(): Promise<void> {
    if (!this.settings.store || this.isClosed) return;
    const { written } = await this.client.ask(this, { type: 'stored' });
    this.written = Math.max(this.written, written ?? 0);
  }

  /** Resolves with how many changes the store lacks, if no other worker has the room. */
  close(): Promise<number> {
    const closed = this.client.remove(this);
    this.isClosed = true;
    this.members.clear();
    this.ready();
    return closed;
  }

  /** What it says to a sequencer that is there for the first time, or again. */
  opening(): ToSequencer {
    const { bounds, store } = this.settings;
    this.arriving = undefined;
    return { type: 'open', room: this.id, epoch: this.epoch, number: this.entries.seq, bounds, store };
  }

  /** What the sequencer may not have. */
  unacked(): readonly Change[] {
    return this.overlay.changes;
  }

  onMessage(message: Exclude<ToWorker, { type: 'reply' }>): void {
    if (this.isClosed) return;
    switch (message.type) {
      case 'give': {
        const { changes, next } = pageOf(this.entries, message.after);
        const all = changes.map(changeOf);
        return this.client.send({ type: 'given', room: this.id, changes: all, next, isAll: next === undefined });
      }
      case 'page':
        return this.onPage(message);
      case 'changes':
        this.changes += message.seq - this.entries.seq;
        this.takeAll(message.changes, message.seq);
        return this.overlay.acked(message.acked);
      case 'store':
        this.written = message.written;
        return this.events.onStore(message);
    }
  }

  private newChange(key: string, value: Encoded | undefined, expires?: number): Change {
    if (this.settings.store) this.changed.add(key);
    return { key, clock: this.clock.tick(), origin: this.client.node, value, expires };
  }

  private takeAll(changes: readonly NumberedChange[], seq: number): void {
    for (const change of changes) {
      this.clock.heard(change.clock);
      // Another worker has changed it since.
      if (!this.overlay.has(change.key)) this.changed.delete(change.key);
      this.changedBytes += bytesOf(change.key, change.value);
      this.overlay.put(change, change.seq);
    }
    this.entries.seq = seq;
    if (changes.length > 0) this.hold();
  }

  private onPage({ epoch, isFirst, forgottenSeq, changes, next, seq }: ToWorker & { type: 'page' }): void {
    if (isFirst) this.arriving = { epoch, entries: new Entries(this.settings.bounds.maxKeys) };
    const { arriving } = this;
    if (arriving) {
      arriving.entries.forgottenSeq = Math.max(arriving.entries.forgottenSeq, forgottenSeq);
      for (const change of changes) {
        this.clock.heard(change.clock);
        arriving.entries.put(change, change.seq);
      }
    } else this.takeAll(changes, next ?? seq);
    if (next !== undefined) return this.client.send({ type: 'more', room: this.id, after: next });
    if (arriving) {
      this.arriving = undefined;
      arriving.entries.seq = seq;
      this.renew(arriving.epoch, arriving.entries);
    }
    this.isReady = true;
    this.ready();
  }

  /** The order of changes is another one from now on: the sequencer has started again, or this worker was far behind. */
  private renew(epoch: string, entries: Entries): void {
    const { entries: before, published } = this;
    const isSame = ({ key, clock, origin }: Entry) => {
      const known = before.find(key);
      return known && known.seq <= published && known.clock === clock && known.origin === origin;
    };
    const changed = [...entries.after(0)].filter((entry) => !isSame(entry));
    for (const entry of before.present()) {
      if (entries.find(entry.key)) continue;
      changed.push({ ...entry, value: undefined, bytes: bytesOf(entry.key, undefined) });
    }
    this.epoch = epoch;
    this.entries = entries;
    this.written = 0;
    this.overlay.replace(entries);
    this.published = entries.seq;
    const bytes = changed.reduce((sum, entry) => sum + entry.bytes, 0);
    const chunk: Chunk = { entries: changed, from: entries.seq, to: entries.seq, bytes, isSnapshot: false };
    this.members.renewed(chunk);
    if (changed.length > 0) this.events.onChange(() => changed.map(({ key }) => key));
  }

  private ready(): void {
    for (const listener of this.waiting.splice(0)) listener();
  }

  /** Publishes at the end of the window. */
  private hold(): void {
    if (this.isHeld) return;
    this.isHeld = true;
    const { outbox } = this;
    if (!outbox) {
      setImmediate(() => this.flush());
      return;
    }
    if (this.shared?.outbox !== outbox) this.shared = { outbox, hold: outbox.share(() => this.flush()) };
    this.shared.hold();
  }

  /** Publishes what has changed, each key once. The window counts the writes of the outbox that follow. */
  private flush(): number {
    this.isHeld = false;
    if (this.isClosed) return 0;
    const { entries, members, published } = this;
    const chunk = takeChunk(entries, published, entries.seq, PUBLISH_BYTES);
    if (chunk.entries.length > 0) members.publish(chunk, members.metaOf(chunk));
    this.published = chunk.to;
    members.serveSoon();
    if (chunk.to < entries.seq) setImmediate(() => this.hold());
    if (chunk.entries.length > 0) this.events.onChange(() => chunk.entries.map(({ key }) => key));
    return 0;
  }
}
