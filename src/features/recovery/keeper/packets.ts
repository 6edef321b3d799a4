import { delay, machineTime, setImmediate } from '../../../base/clock.js';
import { Deadline } from '../../hub-link.js';
import type { Collected, Missed, MissedQuestion, NamespaceOptions, StreamState } from '../messages.js';
import { decodeOffset, type Offset } from '../offset.js';
import { VersionVector } from '../version-vector.js';
import { FloorCheck, UnnumberedMessages } from './memory.js';
import { type KeptPacket, type PacketMemory, Stream } from './stream.js';

/** How long a keeper waits for a packet that a client, or the worker that it returns to, has received, in ms. */
const MAX_DELAY_MS = 1000;
/** How many clients may wait at once for what the keeper has not received, and how often each looks whether it has, in ms. */
const MAX_WAITS = 1000;
const LOOK_MS = 5;
/** How much is added to an index in one turn of the event loop: packets, and the rooms that they name. */
const INDEXED_AT_ONCE = 5000;

/** How many packets, and rooms that they name, are looked at in one unit of work. */
const LOOKS_OF_UNIT = 16;

export const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The recent broadcasts of one namespace that the workers of a machine have sent, by worker. */
export class Packets {
  readonly unnumbered = new UnnumberedMessages();
  /** What workers that are gone had sent before, the keeper may not have. */
  private since = Number.NEGATIVE_INFINITY;
  private readonly streams = new Map<string, Stream>();
  /** Workers that are here, and send more. */
  private readonly here = new Set<string>();
  /** The clients that wait, the longest first. */
  private readonly waits = new Set<object>();

  /** @param isElsewhere whether another keeper has the packets of a worker */
  constructor(
    private readonly memory: PacketMemory,
    private readonly options: () => NamespaceOptions,
    private readonly isElsewhere = (_sender: string): boolean => false,
  ) {}

  get senders(): string[] {
    return [...this.streams.keys()];
  }

  /** By how much the clock of a worker is behind, in ms; undefined if it is one of another keeper. */
  lagOf(sender: string): number | undefined {
    return this.streams.get(sender)?.lagMs;
  }

  /**
   * A worker begins to send.
   * @param sent how many it has sent that the keeper does not have
   */
  begin(sender: string, sent: number): void {
    this.here.add(sender);
    const known = this.streams.get(sender);
    // A namespace that is made again goes on with higher numbers.
    if (sent === 0 && known?.isWhole) return;
    known?.release();
    const stream = new Stream(this.memory);
    stream.cut(Math.max(sent, known?.last ?? 0), machineTime());
    this.streams.set(sender, stream);
  }

  /**
   * Another keeper has ended, and leaves a part of what a worker of its machine has sent.
   * @returns whether it was the last part
   */
  adopt(sender: string, state: StreamState): boolean {
    const stream = this.streams.get(sender) ?? Stream.of({ ...state, packets: [] }, this.memory);
    this.streams.set(sender, stream);
    if (!this.here.has(sender)) for (const packet of state.packets) stream.add(packet);
    return stream.isWhole;
  }

  add(sender: string, packet: KeptPacket): void {
    this.streams.get(sender)?.add(packet);
  }

  /** A worker is gone. @returns how many it has sent */
  end(sender: string): number {
    this.here.delete(sender);
    return this.streams.get(sender)?.last ?? 0;
  }

  /** What a worker has sent last, as far as it is kept. */
  tail(sender: string, after: number): readonly KeptPacket[] {
    return this.streams.get(sender)?.after(after, Number.POSITIVE_INFINITY) ?? [];
  }

  /** Messages of before may be lost: the former keeper of this machine had them. */
  loseBefore(): void {
    this.since = machineTime();
    this.unnumbered.lose(true);
  }

  /** Whether a client may lack packets that only the former keeper had, of workers that are gone. */
  private mayLackLost({ at, received, receivesSince }: MissedQuestion, { senders }: Offset): boolean {
    // What has reached the client's worker since, has reached the one that asks.
    if (at < receivesSince + MAX_DELAY_MS + this.options().slackMs) return true;
    const lacking = VersionVector.parse(received).beyond(senders);
    return lacking.some((sender) => !this.streams.has(sender) && !this.isElsewhere(sender));
  }

  /** How much there is to look at, in units of work. */
  costOf({ offset, session }: Pick<MissedQuestion, 'offset'> & { session: { rooms: readonly string[] } }): number {
    const senders = decodeOffset(offset)?.senders;
    let count = 0;
    for (const [sender, stream] of this.streams)
      count += stream.looksFor(session.rooms.length, senders?.of(sender) ?? 0);
    return 1 + count / LOOKS_OF_UNIT;
  }

  /** What a client lacks of what these workers have sent to its rooms, or to all. */
  async missing(question: MissedQuestion): Promise<Collected> {
    const offset = decodeOffset(question.offset);
    if (!offset) return { outcome: 'offset invalid' };
    const received = VersionVector.union(offset.senders, VersionVector.parse(question.received));
    const awaited = await this.wait(received);
    // What a killed worker has sent to its clients alone is kept nowhere.
    if (awaited.some((sender) => this.here.has(sender))) return { outcome: 'worker behind' };
    const rooms = new Set(question.session.rooms);
    for (const [sender, stream] of this.streams) {
      const number = offset.senders.of(sender);
      while (stream.isLongFor(rooms, number) && !stream.indexSome(INDEXED_AT_ONCE)) await nextTurn();
    }
    return this.missingNow(question, offset, rooms);
  }

  /** Waits a while for what others have received, and returns what is still missing. It usually comes within milliseconds. */
  private async wait(received: VersionVector): Promise<VersionVector> {
    const last = { of: (sender: string) => this.streams.get(sender)?.last ?? Number.POSITIVE_INFINITY };
    let awaited = received.beyond(last);
    const wait = {};
    this.waits.add(wait);
    const [longest] = this.waits;
    if (this.waits.size > MAX_WAITS) this.waits.delete(longest!);
    const deadline = new Deadline(MAX_DELAY_MS);
    while (awaited.size > 0 && deadline.left > 0 && this.waits.has(wait)) {
      await delay(LOOK_MS);
      awaited = awaited.beyond(last);
    }
    this.waits.delete(wait);
    return awaited;
  }

  private missingNow(question: MissedQuestion, offset: Offset, rooms: ReadonlySet<string>): Collected {
    const { at } = question;
    const { aliveAt, floors, alsoReceived } = question.session;
    const { senders } = offset;
    const { slackMs, maxMissed, maxMissedBytes } = this.options();
    const alive = aliveAt - slackMs;
    if (this.since > alive && this.mayLackLost(question, offset)) return { outcome: 'packets missing' };
    if (this.unnumbered.hasFor(rooms, at - slackMs)) return { outcome: 'packets missing' };
    const check = new FloorCheck(floors);
    const received = VersionVector.union(senders, VersionVector.parse(alsoReceived));
    const packets: Missed[] = [];
    let bytes = 0;
    const upTo = new VersionVector();
    for (const [sender, stream] of this.streams) {
      const number = senders.of(sender);
      // Its worker had heard nothing of this sender yet, or nothing for a long time.
      const since = senders.knows(sender) ? 0 : at - slackMs;
      const oldest = Math.max(alive, since - MAX_DELAY_MS);
      const isComplete = stream.isComplete(number, oldest) && !stream.lacksTail(number, oldest);
      if (!isComplete) return { outcome: 'packets missing' };
      for (const [packet, joined] of stream.forRooms(rooms, received.of(sender))) {
        const sent = { number: packet.number, at: packet.at + stream.lagMs };
        if (sent.at < since - MAX_DELAY_MS || !check.isAbove(joined, sender, sent)) continue;
        packets.push([sender, packet.number, packet.at, packet.packets]);
        for (const { length } of packet.packets) bytes += length;
        if (packets.length > maxMissed || bytes > maxMissedBytes) return { outcome: 'too much missed' };
      }
      upTo.raise(sender, stream.last);
    }
    return { outcome: undefined, packets, upTo: `${upTo}` };
  }

  /** What another keeper goes on with, in parts of about so many bytes. */
  *state(partBytes: number): Iterable<StreamState & { sender: string }> {
    for (const [sender, stream] of this.streams) {
      const { packets, ...state } = stream.state;
      let part: KeptPacket[] = [];
      let bytes = 0;
      for (const packet of packets) {
        part.push(packet);
        for (const { length } of packet.packets) bytes += length;
        if (bytes < partBytes) continue;
        yield { sender, ...state, packets: part };
        part = [];
        bytes = 0;
      }
      yield { sender, ...state, packets: part };
    }
  }

  /** Forgets workers that are gone and of which nothing is kept since a time. */
  sweep(oldest: number): void {
    this.unnumbered.sweep(oldest);
    for (const [sender, stream] of this.streams) {
      stream.sweep();
      if (this.here.has(sender) || stream.usedAt >= oldest) continue;
      stream.release();
      this.streams.delete(sender);
    }
  }

  close(): void {
    this.waits.clear();
    for (const stream of this.streams.values()) stream.release();
    this.streams.clear();
  }
}
