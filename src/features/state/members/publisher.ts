import type { Namespace } from 'socket.io';
import { delay, setImmediate } from '../../../base/clock.js';
import { joinTexts } from '../../../base/names.js';
import { own } from '../../../base/owner.js';
import type { Outbox } from '../../../engine/delivery/outbox.js';
import { Engine } from '../../../engine/engine.js';
import { privateParts } from '../../../io/socket-io-server.private.js';
import { type Entries, keyBytesOf, type StateEntry } from '../entries.js';
import type { Replica } from '../replica/replica.js';
import { encodeVersion, parseVersion, UNITS_PER_MS } from '../version.js';
import { type Chunk, type StateFormat, takeChunk } from './format.js';
import { type Member, Members, type MembersHost } from './members.js';

/** Approximate size of what is published in one window. More waits for the next. */
const PUBLISH_BYTES = 262_144;
/** How often the hub is asked at most for clients that name a later version than this worker has, in ms. */
const JOIN_MS = 50;

/** Brings what a replica has to the members of this worker, each change at the end of the window. */
export class StatePublisher implements MembersHost {
  readonly members: Members;
  published = 0;
  /** What the names of its topics begin with. */
  private readonly topic: string;
  private isHeld = false;
  private isClosed = false;
  private soon: Promise<void> | undefined;
  private shared: { outbox: Outbox; hold: () => void } | undefined;

  /** @param onChange called when keys have changed in a window */
  constructor(
    private readonly nsp: Namespace,
    name: string,
    private readonly replica: Replica,
    private readonly onChange: (keys: () => string[]) => void,
  ) {
    this.topic = joinTexts('state', nsp.name, name);
    this.members = new Members(this);
  }

  get entries(): Entries {
    return this.replica.entries;
  }

  private get engine(): Engine | undefined {
    const { engine } = privateParts(this.nsp.server);
    return engine instanceof Engine ? engine : undefined;
  }

  get outbox(): Outbox | undefined {
    return this.engine?.outbox;
  }

  get compressFrom(): number | undefined {
    return this.engine?.settings.perMessageDeflate?.threshold;
  }

  versionAt(seq: number): string {
    // A member that is behind has had less than what is here now.
    const timeMs = seq >= this.published ? Date.now() : this.timeAt(seq);
    return encodeVersion({ epoch: this.replica.epoch || '-', number: seq, timeMs });
  }

  /** A time at which a member that is at a number had it. */
  private timeAt(seq: number): number {
    for (const entry of this.entries.after(seq)) return Math.floor(entry.clock / UNITS_PER_MS);
    return Date.now();
  }

  topicOf({ name }: StateFormat): string {
    return this.topic + name;
  }

  /** Adds a member, which continues from a version if that is possible. */
  join(member: Member, given: unknown): void {
    const { replica } = this;
    const version = parseVersion(given);
    member.isReady = false;
    this.members.add(member);
    const serve = (from?: number) => {
      if (member.isGone) return;
      const isKnown = version?.epoch === replica.epoch && version.number <= this.entries.seq;
      const number = isKnown ? version.number : from;
      if (number !== undefined) member.seq = Math.min(number, this.published);
      member.isReady = true;
      this.members.serveSoon();
    };
    replica.whenReady(() => {
      if (version && version.epoch !== replica.epoch && !replica.isLocal) {
        // The client comes from another machine.
        return own('asking the hub about a client', replica.numberAt(version.epoch, version.timeMs).then(serve));
      }
      // The client comes from a worker that was a moment ahead.
      if (version?.epoch === replica.epoch && version.number > this.entries.seq) {
        return own('catching up with the hub', this.caughtUpSoon().then(serve));
      }
      serve();
    });
  }

  /** The same for many clients, which may name any version. */
  private caughtUpSoon(): Promise<undefined> {
    this.soon ??= delay(JOIN_MS).then(() => {
      this.soon = undefined;
      return this.replica.caughtUp();
    });
    return this.soon.then(() => undefined);
  }

  close(): void {
    this.isClosed = true;
    this.members.clear();
  }

  /** The replica has other entries: members get what is different. */
  renewed(before: Entries): void {
    const { entries, published } = this;
    const isSame = ({ key, clock, origin }: StateEntry) => {
      const known = before.find(key);
      return known && known.seq <= published && known.clock === clock && known.origin === origin;
    };
    const changed = [...entries.after(0)].filter((entry) => !isSame(entry));
    for (const entry of before.present()) {
      if (entries.find(entry.key)) continue;
      changed.push({ ...entry, value: undefined, bytes: keyBytesOf(entry.key, undefined) });
    }
    this.published = entries.seq;
    const bytes = changed.reduce((sum, entry) => sum + entry.bytes, 0);
    const chunk: Chunk = { entries: changed, from: entries.seq, to: entries.seq, bytes, isSnapshot: false };
    this.members.renewed(chunk);
    if (changed.length > 0) this.onChange(() => changed.map(({ key }) => key));
  }

  /** Publishes at the end of the window. */
  hold(): void {
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
    if (chunk.entries.length > 0) this.onChange(() => chunk.entries.map(({ key }) => key));
    return 0;
  }
}
