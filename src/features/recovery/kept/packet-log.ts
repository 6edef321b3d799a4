import { encodeNumbers, encodeOffset, type Offset, offsetWith } from '../offset.js';
import { Waits } from './expiries.js';
import type { Floor } from './memory.js';
import { before, type KeptPacket, type Mark, type PacketMemory, parted, Stream, type StreamState } from './stream.js';

/** More senders than any cluster has. Their names come from the backplane. */
const MAX_SENDERS = 4096;
/** By how far the clocks of two machines may differ, in ms. No clock follows one that is further ahead. */
export const MAX_SKEW_MS = 1000;
/** After this time, a worker has received what another one sent, in ms. */
const MAX_DELAY_MS = 1000;

/** What was sent so long before a client was last known to have everything, it has, whatever its offset says, in ms. */
const CERTAINTY_MS = 20_000;
/** How many clients may wait at once for what this worker has not received. */
const MAX_WAITS = 1000;
/** Of how many workers a client may be ahead of this one. */
const MAX_AWAITED = 64;
/** How many workers that this one does not know may have started at once. An offset that names more has made them up. */
const MAX_NEW_SENDERS = 8;

/** For how long a floor is given out again while this worker receives nothing, in ms. */
const FLOOR_MS = 1000;
/** The number of packets that are added to an index in one turn of the event loop. */
const INDEXED_AT_ONCE = 5000;
const NO_ROOMS: ReadonlySet<string> = new Set();

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The recent broadcasts in one namespace, by the worker that sent them. */
export class PacketLog {
  /** This worker has received all broadcasts since then, in ms since 1970. */
  since = Number.POSITIVE_INFINITY;
  /** Since when it has received them by itself. */
  startedAt = Number.POSITIVE_INFINITY;
  /** Packets sent to single sockets of this worker. */
  direct = 0;
  private readonly streams = new Map<string, Stream>();
  /** Workers that send nothing any more. */
  private readonly gone = new Set<string>();
  private sent = 0;
  private sentAt: number | undefined;
  private lastAt = 0;
  /** The numbers of all senders as text, until one of them changes. */
  private numbers: string | undefined;
  private lastFloor: Floor = { at: 0, numbers: '' };
  private readonly waits = new Waits(MAX_WAITS);

  /**
   * @param worker the name of this worker
   * @param retentionMs how long packets are kept
   * @param isWorker whether a worker may have this name; by default, any may
   */
  constructor(
    readonly worker: string,
    private readonly memory: PacketMemory,
    private readonly retentionMs: () => number,
    private readonly isWorker: (name: string) => boolean = () => true,
  ) {}

  /** From now on, this worker receives all broadcasts. */
  start(): void {
    this.startedAt = Date.now();
    this.since = this.startedAt;
  }

  /** This worker does not know everything that was sent until then. */
  startAfter(time: number): void {
    this.since = Math.max(this.since, time);
  }

  /** The time of the next packet, which is later than all that this worker has sent or received. */
  nextTime(): number {
    // A multiple of 2^-10 is exact, so that packets of the same millisecond keep their order.
    this.lastAt = Math.max(Date.now(), this.lastAt + 1 / 1024);
    return this.lastAt;
  }

  /** The mark of the next broadcast of this worker. */
  nextMark(): Mark {
    const sentBefore = this.sentAt === undefined ? ([] as const) : ([this.sentAt] as const);
    this.sentAt = this.nextTime();
    return [this.worker, ++this.sent, this.sentAt, ...sentBefore];
  }

  /** The number and the time of the newest broadcast of a worker. */
  headOf(sender: string): { last: number; lastAt: number } {
    const { last = 0, lastAt = 0 } = this.streams.get(sender) ?? {};
    return { last, lastAt };
  }

  /**
   * Adds a broadcast.
   * @returns false if it is known already
   */
  add([sender, number, at, sentBefore]: Mark, content: Omit<KeptPacket, 'number' | 'at'>): boolean {
    const stream = this.streamOf(sender, number, sentBefore);
    if (!stream) {
      this.start();
      return true;
    }
    const before = stream.last;
    if (number <= before) return false;
    // Packets in between were lost on their way.
    if (number > before + 1) stream.cut(number - 1, Date.now());
    stream.add({ ...content, number, at });
    this.numbers = undefined;
    if (at < Date.now() + MAX_SKEW_MS) this.lastAt = Math.max(this.lastAt, at);
    if (this.waits.size > 0) this.waits.received(sender, before, number);
    return true;
  }

  /** @param sentBefore when a new sender had sent the packet before this one */
  private streamOf(sender: string, number: number, sentBefore = this.since): Stream | undefined {
    let stream = this.streams.get(sender);
    if (!stream) {
      if (this.streams.size >= MAX_SENDERS) return undefined;
      stream = new Stream(this.memory);
      // What it sent before, this worker could not receive, or has lost.
      if (number > 1) stream.cut(number - 1, Math.min(sentBefore, Date.now()));
      this.waits.received(sender, 0, number - 1);
      this.streams.set(sender, stream);
    }
    return stream;
  }

  /** The offset of a packet that is delivered now. */
  offset(at: number, direct = this.direct): string {
    return offsetWith(at, this.worker, direct, this.received());
  }

  /** The offset of a packet for a client that lacks further ones. */
  offsetOf(at: number, senders: ReadonlyMap<string, number>): string {
    return encodeOffset(at, this.worker, this.direct, senders);
  }

  /** What this worker has received until now. */
  floor(): Floor {
    const at = Date.now();
    const numbers = this.received();
    // Sockets that connect or join in between share it.
    if (numbers !== this.lastFloor.numbers || at - this.lastFloor.at > FLOOR_MS) this.lastFloor = { at, numbers };
    return this.lastFloor;
  }

  private received(): string {
    this.numbers ??= encodeNumbers(this.numbersSince(Date.now() - 2 * this.retentionMs()));
    return this.numbers;
  }

  private *numbersSince(since: number): Iterable<[string, number]> {
    for (const [sender, { last, lastAt }] of this.streams) if (lastAt >= since) yield [sender, last];
  }

  /**
   * Waits until this worker has received all that a client has received.
   * @returns false if that did not happen in time
   */
  async reached({ senders, at }: Offset): Promise<boolean> {
    const awaited = this.awaitedOf(senders);
    if (awaited === undefined || awaited.size === 0) return awaited !== undefined;
    const ms = Math.max(0, Math.min(at - Date.now(), MAX_SKEW_MS) + MAX_DELAY_MS);
    const end = await this.waits.start(awaited, ms);
    if (end !== 'late') return end === 'received';
    // Senders that this worker has never heard of were silent since it started. What a killed worker has sent to its
    // clients, but to no worker, is kept nowhere.
    for (const [sender, number] of awaited) {
      const stream = this.streams.get(sender);
      if (stream && stream.last < number && !this.gone.has(sender)) return false;
    }
    return true;
  }

  /** What a client has received and this worker has not; undefined if that cannot be. */
  private awaitedOf(senders: Offset['senders']): Map<string, number> | undefined {
    const awaited = new Map<string, number>();
    const unknown: [string, number][] = [];
    for (const one of senders) {
      const [sender, number] = one;
      const stream = this.streams.get(sender);
      if (stream ? stream.last >= number : number === 0) continue;
      if (sender === this.worker) return undefined;
      if (stream) awaited.set(sender, number);
      else unknown.push(one);
    }
    if (awaited.size > MAX_AWAITED) return undefined;
    if (unknown.length > MAX_NEW_SENDERS) return awaited;
    for (const [sender, number] of unknown) {
      // A worker that started just now, or was killed before this one has heard of it.
      if (this.gone.has(sender) || this.isWorker(sender)) awaited.set(sender, number);
    }
    return awaited;
  }

  /** Notes that a worker is gone. */
  end(sender: string): void {
    this.gone.add(sender);
  }

  /** Prepares `after()` for the same client in slices of time. */
  async prepare({ senders }: Pick<Offset, 'senders'>, rooms: ReadonlySet<string>): Promise<void> {
    for (const [sender, stream] of this.streams) {
      const number = senders.get(sender) ?? 0;
      while (stream.isLongFor(rooms, number) && !stream.indexSome(INDEXED_AT_ONCE)) await nextTurn();
    }
  }

  /** How many broadcasts were sent since a client had its offset, those to other rooms included. */
  countAfter({ senders }: Pick<Offset, 'senders'>): number {
    let count = 0;
    for (const [sender, stream] of this.streams) count += stream.countAfter(senders.get(sender) ?? 0);
    return count;
  }

  /**
   * The broadcasts to these rooms or to all that a client lacks, with their senders, or undefined if this worker cannot know
   * all of them.
   * @param aliveAt the client has received everything that it was sent before this time
   */
  after(
    { senders, at }: Pick<Offset, 'senders' | 'at'>,
    aliveAt: number,
    rooms: ReadonlySet<string> = NO_ROOMS,
  ): [string, KeptPacket][] | undefined {
    if (this.since > aliveAt) return undefined;
    const missed: [string, KeptPacket][] = [];
    for (const [sender, stream] of this.streams) {
      const number = senders.get(sender);
      // The other worker had heard nothing of this sender yet, or nothing for a long time.
      const since = Math.max(number === undefined ? at - MAX_DELAY_MS : 0, aliveAt - CERTAINTY_MS);
      if (!stream.isComplete(number ?? 0, Math.max(aliveAt, since))) return undefined;
      for (const packet of stream.forRooms(rooms, number ?? 0)) {
        if (packet.at >= since) missed.push([sender, packet]);
      }
    }
    return missed;
  }

  /** Which of these senders this worker knows. */
  known(senders: ReadonlyMap<string, number>): Map<string, number> {
    return new Map([...senders].filter(([sender]) => this.streams.has(sender)));
  }

  /** The packets of a worker behind a number, as far as they are kept. */
  tail(sender: string, number: number): readonly KeptPacket[] {
    return this.streams.get(sender)?.after(number, Number.POSITIVE_INFINITY) ?? [];
  }

  /** All that this worker knows. */
  *state(): Iterable<StreamState> {
    for (const [sender, { floor, floorAt, last, lastAt, kept: packets }] of this.streams)
      yield { sender, floor, floorAt, last, lastAt, packets };
  }

  /** The same in parts, with their sizes. Those of a sender are the newest first, and each continues the one before it. */
  *parts(maxBytes?: number): Iterable<[part: StreamState, bytes: number]> {
    for (const state of this.state()) yield* parted(state, maxBytes);
  }

  /** The newest part of what this worker has sent. */
  *ownEnd(): Iterable<StreamState> {
    for (const state of this.state()) {
      if (state.sender !== this.worker) continue;
      const [newest] = parted(state);
      yield newest![0];
    }
  }

  /** Adds what another worker knows of a sender; of one that is unknown so far, up to its first new packet. */
  learn(state: StreamState, isNew: (at: number) => boolean = () => false): void {
    const { sender, floor, floorAt } = state;
    const known = this.streams.get(sender);
    const stream = known ?? this.streamOf(sender, 1);
    if (!stream) return;
    this.numbers = undefined;
    if (!known) {
      const { packets, last, lastAt } = before(state, isNew);
      stream.prepend(packets, floor, floorAt);
      stream.last = last;
      stream.lastAt = lastAt;
      this.waits.received(sender, 0, last);
    } else if (floor < stream.floor && state.last >= stream.floor) {
      const older = state.packets.filter(({ number }) => number <= stream.floor);
      stream.prepend(older, floor, floorAt);
    }
  }

  /** Forgets workers that have been silent for a long time. */
  sweep(): void {
    this.numbers = undefined;
    const oldest = Date.now() - 3 * this.retentionMs();
    for (const [sender, stream] of this.streams) {
      stream.sweep();
      if (stream.lastAt >= oldest || sender === this.worker) continue;
      stream.release();
      this.streams.delete(sender);
      this.gone.delete(sender);
    }
  }

  close(): void {
    this.waits.close();
    for (const stream of this.streams.values()) stream.release();
    this.streams.clear();
  }
}
