import { clearImmediate, setImmediate } from '../../../base/clock.js';
import type { Outbox } from '../../../engine/delivery/outbox.js';
import type { NativeWebSocket } from '../../../engine/http/exchange.js';
import type { EncodedPackets } from '../../../io/rooms/encoded-packet.js';
import type { Entries } from '../entries.js';
import type { StateMeta } from '../state-room.js';
import { type Chunk, NOTHING, type StateFormat, type StateReader, takeChunk } from './format.js';
import { MARK_MS, Marks } from './marks.js';

/** A live member for which this number of bytes waits leaves the topic. Far below what closes it as a slow client. */
const MAX_WAITING_BYTES = 65_536;
/** Live members are measured after this number of published bytes. */
const MEASURE_BYTES = 32_768;
/** Approximate size of the messages to one member. */
const CHUNK_BYTES = 32_768;
/** A change of this size is not published to all members at once if it has this number of bytes for all of them together. */
const LARGE_BYTES = 262_144;
const MAX_AT_ONCE_BYTES = 8_388_608;
/** How often live members are looked at whether they read, in ms. */
const CHECK_MS = 50;
/** How often members for which bytes wait are measured, in ms. */
const MEASURE_MS = 20;
/** How long members are served in one turn of the event loop, in ms. */
const TURN_MS = 4;
/** A member that is behind for so long is behind for long, in ms. */
const LONG_MS = 30_000;

interface Encoded {
  readonly chunk: Chunk;
  readonly messages: EncodedPackets;
  readonly mark: number | undefined;
}

/** What was encoded in one turn, by the number that its readers had, with a mark and without. */
type Cache = Map<StateFormat, Map<number, Encoded>>;

/** What the members of a room need of it. */
export interface MembersHost {
  readonly entries: Entries;
  /** Undefined while there is no engine of gjallar. */
  readonly outbox: Outbox | undefined;
  /** The number of the change up to which the topic has everything. */
  readonly published: number;
  /** Messages of this number of bytes or more are compressed; undefined for never. */
  readonly compressFrom: number | undefined;
  /** What a client may say later to continue from a number. */
  versionAt(seq: number): string;
  topicOf(format: StateFormat): string;
}

/** A reader in a room, and how far it is. */
export class Member {
  /** The number of the change up to which it has everything; NOTHING before its snapshot. Kept while it is not live. */
  seq = NOTHING;
  /** Where its present update ends, if it has a pace. */
  goal = 0;
  /** When its next update may begin, if it has a pace. */
  due = 0;
  /** Whether the topic reaches it. */
  isLive = false;
  /** Whether it may be served: what it has is known. */
  isReady = true;
  /** Whether it has left. */
  isGone = false;
  /** Since when bytes have waited for it while it lacked something, in ms; 0 if it has been served since. */
  behindSince = 0;
  /** What it has read, if it acknowledges. */
  marks: Marks | undefined;

  constructor(
    readonly reader: StateReader,
    readonly format: StateFormat,
    /** The shortest time between two updates, in ms; 0 for any. */
    readonly intervalMs: number,
  ) {}
}

/**
 * The readers of a room. A live member is in the topic of its format, and costs nothing until bytes wait for it. Any other
 * member is sent what has changed after its number as soon as it has read everything before, and becomes live once it has
 * what the topic has. Members that topics do not reach, or that have a pace, are never live.
 */
export class Members {
  /** Changes that a member did not need because a later one of the same key replaced them, over all members. */
  conflated = 0;
  /** About how many bytes that has saved. */
  savedBytes = 0;
  private readonly live = new Map<StateFormat, Set<Member>>();
  private readonly others = new Set<Member>();
  /** What the turns before have sent, which the outbox may still hold. */
  private sentBefore = 0;
  private sinceMeasured = 0;
  private timer: NodeJS.Timeout | undefined;
  private immediate: NodeJS.Immediate | undefined;
  private timerDue = 0;
  private lastMark = 0;
  /** When live members were sent a mark, and when they were asked for it last. */
  private markedAt = 0;
  private checkedAt = 0;

  constructor(private readonly host: MembersHost) {}

  get size(): number {
    let { size } = this.others;
    for (const members of this.live.values()) size += members.size;
    return size;
  }

  /** Members that lack something that the topic has. */
  get behind(): number {
    let count = 0;
    for (const member of this.others) if (this.lacks(member)) count++;
    return count;
  }

  /** Members without a pace that have been behind for long. */
  get behindLong(): number {
    const since = performance.now() - LONG_MS;
    let count = 0;
    for (const { behindSince, intervalMs } of this.others) {
      if (behindSince > 0 && behindSince < since && intervalMs === 0) count++;
    }
    return count;
  }

  /** Whether this number of members is behind. */
  isCrowded(max: number): boolean {
    return this.others.size >= max && this.behind >= max;
  }

  add(member: Member): void {
    this.others.add(member);
    this.serveSoon();
  }

  remove(member: Member): void {
    member.isGone = true;
    this.others.delete(member);
    const webSocket = member.isLive ? member.reader.topicSocket : undefined;
    this.live.get(member.format)?.delete(member);
    member.isLive = false;
    if (webSocket) this.host.outbox!.unsubscribe(webSocket, this.host.topicOf(member.format));
  }

  clear(): void {
    for (const members of [this.others, ...this.live.values()]) for (const member of [...members]) this.remove(member);
    clearTimeout(this.timer);
    clearImmediate(this.immediate);
    this.timer = undefined;
    this.immediate = undefined;
  }

  /** Publishes a chunk to all live members. */
  publish(chunk: Chunk, meta: StateMeta): void {
    this.measure(chunk.bytes);
    const now = performance.now();
    if (now - this.checkedAt >= CHECK_MS) this.checkMarks(meta, now);
    for (const [format, members] of this.live) {
      if (members.size === 0) continue;
      if (chunk.bytes > LARGE_BYTES && members.size * chunk.bytes > MAX_AT_ONCE_BYTES) {
        // Written to all in one go, it would keep the worker from everything else. They get it one after the other.
        for (const member of members) this.leaveTopic(member, members);
        continue;
      }
      this.count(members.size * conflatedIn(chunk));
      this.publishTo(format, chunk, meta);
    }
  }

  /** The order of changes is another one. Live members get what is different, and all others a snapshot. */
  renewed(chunk: Chunk): void {
    for (const [format, members] of this.live) {
      if (chunk.bytes > LARGE_BYTES) for (const member of members) this.leaveTopic(member, members);
      else if (members.size > 0 && chunk.entries.length > 0) this.publishTo(format, chunk, this.metaOf(chunk));
    }
    for (const member of this.others) Object.assign(member, { seq: NOTHING, goal: 0 });
    this.serveSoon();
  }

  private publishTo(format: StateFormat, chunk: Chunk, meta: StateMeta): void {
    const { outbox, compressFrom } = this.host;
    for (const message of format.encode(chunk, meta)) {
      const isBinary = typeof message !== 'string';
      const frame = isBinary ? message : format.prefix + message;
      const compress = compressFrom !== undefined && frame.length >= compressFrom;
      outbox!.publish(this.host.topicOf(format), frame, isBinary, compress);
    }
  }

  /** Serves the members that are not live once the present turn is over. */
  serveSoon(): void {
    if (this.others.size > 0) this.immediate ??= setImmediate(this.serve);
  }

  /** A client has read everything up to a mark. From the first time on, it is sent marks; no more after a negative one. */
  acknowledge(member: Member, mark: number): void {
    if (mark > this.lastMark) return;
    member.marks = mark < 0 ? undefined : (member.marks ?? new Marks());
    member.marks?.acknowledge(mark, performance.now());
    if (!member.isLive) this.serveSoon();
  }

  /** Takes members out of the topic that do not read, and sends the others a mark with a chunk if it is time. */
  private checkMarks(meta: StateMeta, now: number): void {
    this.checkedAt = now;
    const isDue = now - this.markedAt >= MARK_MS;
    for (const members of this.live.values()) {
      for (const member of members) {
        if (!member.marks) continue;
        if (member.marks.isLate(now)) this.leaveTopic(member, members);
        else if (isDue) {
          meta.mark ??= ++this.lastMark;
          member.marks.sent(meta.mark, now);
        }
      }
    }
    if (meta.mark !== undefined) this.markedAt = now;
  }

  /** Takes members out of the topic if too many bytes wait for them. */
  private measure(bytes: number): void {
    this.sinceMeasured += bytes;
    if (this.sinceMeasured < MEASURE_BYTES) return;
    this.sinceMeasured = 0;
    for (const members of this.live.values()) {
      for (const member of members) {
        if (member.reader.bufferedAmount >= MAX_WAITING_BYTES) this.leaveTopic(member, members);
      }
    }
  }

  /** From now on, a live member is served by itself. What was published before still reaches it. */
  private leaveTopic(member: Member, live: Set<Member>): void {
    const { topicSocket } = member.reader;
    if (topicSocket) this.host.outbox!.unsubscribe(topicSocket, this.host.topicOf(member.format));
    live.delete(member);
    member.isLive = false;
    member.seq = this.host.published;
    this.others.add(member);
  }

  private readonly serve = (): void => {
    this.immediate = undefined;
    const { published } = this.host;
    const cache: Cache = new Map();
    const now = performance.now();
    const end = now + TURN_MS;
    let wait = Number.POSITIVE_INFINITY;
    let sent = this.sentBefore;
    this.sentBefore = 0;
    let left = this.others.size;
    for (const member of this.others) {
      if (left-- === 0) break;
      if (!member.isReady) continue;
      const unread = member.marks?.waitMs(now) ?? 0;
      if (unread > 0) {
        if (this.lacks(member)) {
          if (member.behindSince === 0) member.behindSince = now;
          wait = Math.min(wait, unread);
        }
        continue;
      }
      if (!this.lacks(member)) {
        member.behindSince = 0;
        this.enterTopic(member);
        continue;
      }
      if (member.behindSince === 0) member.behindSince = now;
      if (member.intervalMs > 0) {
        if (member.seq >= member.goal && now < member.due) {
          wait = Math.min(wait, member.due - now);
          continue;
        }
        if (member.seq >= member.goal) member.goal = published;
      }
      if (member.reader.bufferedAmount > 0) {
        wait = Math.min(wait, MEASURE_MS);
        continue;
      }
      sent += this.send(member, cache, now);
      // Others have their turn first if the time is over.
      this.others.delete(member);
      this.others.add(member);
      if (!this.lacks(member)) {
        member.behindSince = 0;
        this.enterTopic(member);
      } else wait = 0;
      if (performance.now() > end || sent > MAX_AT_ONCE_BYTES) {
        wait = 0;
        break;
      }
    }
    const { outbox } = this.host;
    // The outbox would write all that it holds in one go.
    if (outbox && sent > MAX_AT_ONCE_BYTES) outbox.afterHeld(() => this.serveSoon());
    else if (wait === 0) {
      this.sentBefore = sent;
      this.serveSoon();
    } else if (wait < Number.POSITIVE_INFINITY) this.serveIn(wait);
  };

  private serveIn(ms: number): void {
    const due = performance.now() + ms;
    if (this.timer && this.timerDue <= due) return;
    clearTimeout(this.timer);
    this.timerDue = due;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (!this.immediate) this.serve();
    }, ms);
  }

  private lacks(member: Member): boolean {
    return member.seq < this.host.published || member.seq === NOTHING;
  }

  /** Members that are at the same number are sent the same bytes. Returns about how many. */
  private send(member: Member, cache: Cache, now: number): number {
    const { entries, published } = this.host;
    const ofFormat = cache.get(member.format) ?? new Map<number, Encoded>();
    cache.set(member.format, ofFormat);
    const { marks } = member;
    const hasMark = marks?.isDue(now) ?? false;
    const id = 2 * member.seq + Number(hasMark);
    let found = ofFormat.get(id);
    if (!found) {
      const chunk = takeChunk(entries, member.seq, published, CHUNK_BYTES);
      const meta = this.metaOf(chunk);
      if (hasMark) meta.mark = ++this.lastMark;
      found = { chunk, messages: member.format.encode(chunk, meta), mark: meta.mark };
      ofFormat.set(id, found);
    }
    const { chunk, messages, mark } = found;
    if (mark !== undefined) marks?.sent(mark, now);
    marks?.count(chunk.bytes);
    if (!chunk.isSnapshot) this.count(conflatedIn(chunk));
    member.seq = chunk.to;
    if (member.intervalMs > 0 && member.seq >= member.goal) member.due = nextMultiple(member.intervalMs);
    if (chunk.entries.length > 0 || chunk.isSnapshot) member.reader.send(messages);
    return chunk.bytes;
  }

  metaOf(chunk: Chunk): StateMeta {
    const meta: StateMeta = { version: this.host.versionAt(chunk.to) };
    if (chunk.isSnapshot) meta.snapshot = true;
    // Keys that have changed since are missing in a snapshot until their new values are published.
    if (chunk.to < this.host.entries.seq) meta.more = true;
    return meta;
  }

  private count(conflated: number): void {
    this.conflated += conflated;
    const { bytes, size } = this.host.entries;
    this.savedBytes += (conflated * bytes) / Math.max(1, size);
  }

  private enterTopic(member: Member): void {
    const { outbox } = this.host;
    const webSocket: NativeWebSocket | undefined = member.intervalMs > 0 ? undefined : member.reader.topicSocket;
    if (!webSocket || !outbox) return;
    const { format } = member;
    // What is held is published first, and more with it.
    outbox.flushTopic(this.host.topicOf(format));
    if (this.lacks(member)) return this.serveSoon();
    this.others.delete(member);
    const members = this.live.get(format) ?? new Set();
    this.live.set(format, members.add(member));
    member.isLive = true;
    outbox.subscribe(webSocket, this.host.topicOf(format));
  }
}

/** How many changes a chunk leaves out, because later ones of the same keys replaced them. */
function conflatedIn({ from, to, entries }: Chunk): number {
  return to - from - entries.length;
}

/** The next multiple of an interval: members with the same pace are served together, and are sent the same bytes. */
function nextMultiple(intervalMs: number): number {
  return (Math.floor(performance.now() / intervalMs) + 1) * intervalMs;
}
