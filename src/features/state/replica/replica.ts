import { changeOf, Entries, type KeyChange } from '../entries.js';
import type { FromSequencer, NumberedChange, StateBounds, StoreNews, ToSequencer } from '../sequencer/messages.js';
import { pageOf } from '../sequencer/room.js';
import type { StoreAddress } from '../sequencer/store/address.js';
import type { Encoded } from '../values.js';
import type { SequencerClient } from './client.js';
import { Overlay } from './overlay.js';

/** How long a key stays. */
export interface Lasting {
  /** Until this time, in ms since 1970. */
  readonly expires?: number | undefined;
  /** Until this worker is gone. */
  readonly isOwned?: boolean | undefined;
}

interface ReplicaSettings {
  /** Unique among the rooms of all namespaces. */
  readonly id: string;
  readonly bounds: StateBounds;
  readonly store: StoreAddress | undefined;
}

/** What the room of a replica is told. */
interface ReplicaListener {
  /** There are further changes. */
  onChanges(): void;
  /** There are other entries in the place of these, in an order of their own. */
  onRenewed(before: Entries): void;
  onStore(news: StoreNews): void;
}

/**
 * What a worker has of a room: a copy of what the sequencer has, and on top what the worker has changed since. A sequencer in this
 * process shares its entries instead, which have a change at once.
 */
export class Replica {
  entries: Entries;
  readonly overlay: Overlay;
  epoch = '';
  /** Changes since the start. */
  changes = 0;
  /** The number of the change up to which the sequencer has told of everything. */
  private seq = 0;
  private isShared = false;
  /** What comes of a room whose first page has come: it takes the place of what is here. */
  private arriving: { readonly epoch: string; readonly entries: Entries } | undefined;
  /** Up to this number, Redis has everything. */
  private written = 0;
  /** Keys that this worker has changed, and Redis may not have. */
  private readonly changed = new Set<string>();
  isReady = false;
  /** Whether all that the sequencer had when it was asked for the room is here: other pages come after answers. */
  private isWhole = false;
  private isClosed = false;
  private waiting: (() => void)[] = [];

  constructor(
    private readonly client: SequencerClient,
    private readonly settings: ReplicaSettings,
    private readonly listener: ReplicaListener,
  ) {
    this.entries = new Entries(settings.bounds.maxKeys);
    this.overlay = new Overlay(this.entries);
  }

  /** Asks for the room. */
  open(): void {
    this.client.add(this);
  }

  get id(): string {
    return this.settings.id;
  }

  /** Whether the sequencer is in this process. */
  get isLocal(): boolean {
    return this.client.isLocal;
  }

  /** Calls back once everything is here, or the room is closed. */
  whenReady(listener: () => void): void {
    if (this.isReady || this.isClosed) listener();
    else this.waiting.push(listener);
  }

  /** Sets a key, or deletes it. */
  change(key: string, value: Encoded | undefined, lasting?: Lasting): void {
    const change = this.newChange(key, value, lasting);
    if (!this.isShared) this.overlay.add(change, this.client.nextNumber);
    this.client.change(this, change);
  }

  /** Changes fields of a key. */
  async patch(key: string, fields: Encoded, patched: string): Promise<void> {
    if (!this.isShared) this.overlay.add(this.newChange(key, patched), this.client.nextNumber);
    await this.client.patch(this, this.newChange(key, fields));
  }

  async compareAndSet(
    key: string,
    expected: Encoded | undefined,
    value: Encoded | undefined,
    lasting: Lasting,
  ): Promise<boolean> {
    return this.client.compareAndSet(this, this.newChange(key, expected), this.newChange(key, value, lasting));
  }

  async caughtUp(): Promise<void> {
    if (!this.isClosed) await this.client.caughtUp(this);
    if (!this.isWhole && !this.isClosed) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  /** From which number a client continues that has had everything on another machine at a time; undefined for a snapshot. */
  async numberAt(epoch: string, time: number): Promise<number | undefined> {
    const { epoch: before } = this;
    const number = await this.client.numberAt(this, epoch, time);
    return this.epoch === before ? number : undefined;
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
    this.written = Math.max(this.written, await this.client.stored(this));
  }

  /** Resolves with how many changes the store lacks, if no other worker has the room. */
  close(): Promise<number> {
    const closed = this.client.remove(this);
    this.isClosed = true;
    this.ready();
    return closed;
  }

  /** What it says to a sequencer that is there for the first time, or again. */
  opening(): ToSequencer {
    const { bounds, store } = this.settings;
    this.arriving = undefined;
    this.isWhole = false;
    const { node } = this.client;
    return { type: 'open', room: this.id, node, epoch: this.epoch, number: this.entries.seq, bounds, store };
  }

  /** What this worker alone can say: what the sequencer may not have numbered, and the keys that this worker owns. */
  own(): readonly KeyChange[] {
    const owned = [...this.entries.present()].filter(({ owner }) => owner === this.client.node);
    return [...owned.filter(({ key }) => !this.overlay.has(key)).map(changeOf), ...this.overlay.changes];
  }

  onMessage(message: Exclude<FromSequencer, { type: 'reply' }>): void {
    if (this.isClosed) return;
    switch (message.type) {
      case 'pull': {
        const { changes, next } = pageOf(this.entries, message.after);
        const all = changes.filter(({ owner }) => owner === undefined).map(changeOf);
        return this.client.send({ type: 'page', room: this.id, changes: all, next, isAll: next === undefined });
      }
      case 'page':
        return this.onPage(message);
      case 'changes':
        this.take(message.changes, message.seq);
        return this.overlay.acked(message.acked);
      case 'store':
        this.written = message.written;
        return this.listener.onStore(message);
    }
  }

  private newChange(key: string, value: Encoded | undefined, { expires, isOwned }: Lasting = {}): KeyChange {
    if (this.settings.store) this.changed.add(key);
    const { clock, node: origin } = this.client;
    return { key, clock: clock.tick(), origin, value, expires, owner: isOwned ? origin : undefined };
  }

  /** @param changes those that are not shared */
  private take(changes: readonly NumberedChange[], seq: number): void {
    this.changes += seq - this.seq;
    this.seq = seq;
    for (const change of changes) {
      this.client.clock.heard(change.clock);
      // Another worker has changed it since.
      if (!this.overlay.has(change.key)) this.changed.delete(change.key);
      this.overlay.put(change, change.seq);
    }
    if (!this.isShared) this.entries.seq = seq;
    this.listener.onChanges();
  }

  private onPage({ epoch, isFirst, forgottenSeq, changes, next, seq, shared }: FromSequencer & { type: 'page' }): void {
    this.isWhole = next === undefined;
    if (isFirst) this.arriving = { epoch, entries: shared ?? new Entries(this.settings.bounds.maxKeys) };
    const { arriving } = this;
    if (arriving) {
      arriving.entries.forgottenSeq = Math.max(arriving.entries.forgottenSeq, forgottenSeq);
      for (const change of changes) {
        this.client.clock.heard(change.clock);
        arriving.entries.put(change, change.seq);
      }
    } else this.take(changes, next ?? seq);
    if (next !== undefined) return this.client.send({ type: 'pull', room: this.id, after: next });
    if (arriving) {
      this.arriving = undefined;
      arriving.entries.seq = seq;
      this.isShared = shared !== undefined;
      this.renew(arriving.epoch, arriving.entries);
    }
    this.isReady = true;
    this.ready();
  }

  /** The order of changes is another one from now on: the sequencer has started again, or this worker was far behind. */
  private renew(epoch: string, entries: Entries): void {
    const { entries: before } = this;
    this.epoch = epoch;
    this.entries = entries;
    this.seq = entries.seq;
    this.written = 0;
    this.overlay.replace(entries);
    // What this worker has changed is in them.
    if (this.isShared) this.overlay.acked(Number.POSITIVE_INFINITY);
    this.listener.onRenewed(before);
  }

  private ready(): void {
    for (const listener of this.waiting.splice(0)) listener();
  }
}
