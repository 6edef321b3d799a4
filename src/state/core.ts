import type { Namespace } from 'socket.io';
import { privateParts } from '../compat/socket-io-server.js';
import type { Outbox } from '../engine/delivery/outbox.js';
import { Engine } from '../engine/engine.js';
import { textOfRoom } from '../rooms/index.js';
import { bytesOf, type Change, Entries } from './entries.js';
import { type StateFormat, takeChunk } from './members/format.js';
import { type Member, Members, type MembersHost } from './members/members.js';
import type { Encoded } from './options.js';
import type { Hub } from './replication/hub.js';
import type { Replica } from './replication/opening.js';
import type { RoomStore } from './store/store.js';
import { Checkpoints, type ClientVersion, encodeVersion, NO_EPOCH, parseVersion } from './version.js';

/** Approximate size of what is published in one window. More waits for the next. */
const PUBLISH_BYTES = 262_144;
/** How long members wait for what Redis has, in ms; the second if another worker has given the room to this one. */
const MAX_LOAD_MS = 5000;
const MAX_FILLED_LOAD_MS = 1000;

/** The state of a room on this worker: its entries, what its topic has of them, and its members. */
export class RoomCore implements MembersHost, Replica {
  readonly entries: Entries;
  readonly members: Members;
  published = 0;
  /** Bytes of all changes since the start. */
  private changedBytes = 0;
  private readonly checkpoints = new Checkpoints();
  epoch = NO_EPOCH;
  sent = 0;
  isReady = false;
  readonly early = new Set<string>();
  /** When this worker has made its latest change. */
  private latestOwn = 0;
  /** Versions from before this time may hide changes that came later than they should. */
  private trustedFrom = 0;
  /** What is done once the state of the other workers is here, or the room is closed. */
  private waiting: (() => void)[] = [];
  private isHeld = false;
  private isClosed = false;
  readonly load: Replica['load'];
  private readonly store: RoomStore | undefined;
  private shared: { outbox: Outbox; hold: () => void } | undefined;

  /**
   * @param bounds as many deleted keys as keys are remembered
   * @param openStore opens what keeps the room, if it is stored
   * @param onChange called with the keys that have changed in a window
   */
  constructor(
    private readonly nsp: Namespace,
    private readonly hub: Hub,
    readonly name: string,
    private readonly bounds: { readonly maxKeys: number; readonly maxBytes: number },
    openStore: ((core: RoomCore) => RoomStore) | undefined,
    private readonly onChange: (keys: () => string[]) => void,
  ) {
    this.entries = new Entries(bounds.maxKeys, () => hub.complete());
    this.members = new Members(this);
    this.store = openStore?.(this);
    if (this.store) this.load = (isFilled) => this.loadStore(isFilled);
  }

  private loadStore(isFilled: boolean): Promise<void> {
    this.store!.begin(isFilled);
    return this.store!.loaded(isFilled ? MAX_FILLED_LOAD_MS : MAX_LOAD_MS);
  }

  private get engine(): Engine | undefined {
    const { engine } = privateParts(this.nsp.server);
    return engine instanceof Engine ? engine : undefined;
  }

  get outbox(): Outbox | undefined {
    return this.engine?.outbox;
  }

  get changeBytes(): number {
    return this.changedBytes / Math.max(1, this.entries.seq);
  }

  get compressFrom(): number | undefined {
    return this.engine?.settings.perMessageDeflate?.threshold;
  }

  versionAt(seq: number): string {
    // A reader of which no time is known has nothing for certain. It still needs a version, which says what it may
    // have seen.
    const complete = seq >= this.entries.seq ? this.hub.complete() : (this.checkpoints.completeAt(seq) ?? 0);
    const { hub, latestOwn } = this;
    const version = { epoch: this.versionEpoch ?? NO_EPOCH, complete, latest: this.entries.maxClock };
    return encodeVersion(hub.isAlone ? version : { ...version, writer: { node: hub.node, own: latestOwn } });
  }

  /** The topic of a format. No room of socket.io has such a name. */
  topicOf({ name }: StateFormat): string {
    return `${this.nsp.name}\x1e${name}\x1e${textOfRoom(this.name)}`;
  }

  /** Adds a member, which continues from a version if that is possible. */
  join(member: Member, version: unknown): void {
    const known = parseVersion(version);
    member.isReady = false;
    this.members.add(member);
    const serve = () => {
      member.isReady = true;
      this.members.serveSoon();
    };
    const begin = () => {
      if (member.isGone) return;
      if (!known || !this.canContinue(known)) return serve();
      // A socket that joins again and again in one turn costs one search.
      setImmediate(() => this.resume(member, known, serve));
    };
    this.whenReady(begin);
  }

  /** Has a member continue from a version if that is possible. */
  private resume(member: Member, known: ClientVersion, serve: () => void): void {
    if (member.isGone) return;
    const isWanted = () => !member.isGone;
    // The client may come from a worker that had changes which are still on their way here.
    this.hub.reach(this, known, isWanted, (isReached) => {
      if (isReached && this.canContinue(known)) {
        member.seq = Math.min(this.entries.seqBefore(known.complete), this.published);
      }
      serve();
    });
  }

  /** Calls back once the state of the other workers is here, or the room is closed. */
  whenReady(listener: () => void): void {
    if (this.isReady || this.isClosed) listener();
    else this.waiting.push(listener);
  }

  /**
   * The epoch in the versions of clients. In a stored room, workers that have read the same in Redis have the same one;
   * undefined before this worker has: others may have what it lacks, and their changes are no later.
   */
  private get versionEpoch(): string | undefined {
    const { store, epoch } = this;
    if (!store) return epoch;
    return store.mark === undefined ? undefined : epoch + store.mark;
  }

  private canContinue({ epoch, complete }: ClientVersion): boolean {
    return epoch === this.versionEpoch && complete >= Math.max(this.entries.forgottenClock, this.trustedFrom);
  }

  onGone(): void {
    this.store?.onGone();
  }

  /** Changes of this worker that are not stored yet. */
  get unstored(): number {
    return this.store?.unwritten ?? 0;
  }

  /** Resolves once what this worker has changed until now is stored. */
  stored(): Promise<void> {
    return this.store?.stored() ?? Promise.resolve();
  }

  ready(): void {
    for (const listener of this.waiting.splice(0)) listener();
  }

  distrust(): void {
    this.trustedFrom = this.hub.clock.tick();
  }

  /** Sets a key here, or deletes it. */
  change(key: string, value: Encoded | undefined): void {
    if (!this.isReady) this.early.add(key);
    this.apply({ key, value, clock: this.hub.clock.tick(), origin: this.hub.node });
    this.hub.note(this);
    // Deletions must not be forgotten before they are sent.
    if (this.isReady && this.entries.seq - this.sent >= this.bounds.maxKeys) this.hub.flush();
  }

  /** Resolves once what was set last is stored, or cannot be. */
  async close(): Promise<void> {
    const stored = this.store?.close();
    this.isClosed = true;
    this.members.clear();
    this.ready();
    await stored;
  }

  apply(change: Change): void {
    if (this.isClosed || !this.entries.apply(change)) return;
    if (change.origin === this.hub.node) this.latestOwn = Math.max(this.latestOwn, change.clock);
    this.changedBytes += bytesOf(change.key, change.value);
    this.hold();
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
    // The others get it first: a client must not see what is lost with this worker.
    this.hub.flush();
    this.store?.changed();
    const { entries, members, published } = this;
    const chunk = takeChunk(entries, published, entries.seq, PUBLISH_BYTES);
    if (chunk.to === entries.seq) this.checkpoints.add(entries.seq, this.hub.complete());
    if (chunk.entries.length > 0) members.publish(chunk, members.metaOf(chunk));
    this.published = chunk.to;
    members.serveSoon();
    if (chunk.to < entries.seq) setImmediate(() => this.hold());
    if (chunk.entries.length > 0) this.onChange(() => chunk.entries.map(({ key }) => key));
    return 0;
  }
}
