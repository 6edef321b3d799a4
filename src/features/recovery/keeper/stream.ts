import { machineTime } from '../../../base/clock.js';
import type { EncodedPackets } from '../../../io/rooms/index.js';
import type { StreamState } from '../messages.js';
import { memoryOfBytes, memoryOfText } from './memory.js';
import { firstBehind, looksOf, PacketsByRoom, roomsFor } from './packets-by-room.js';

/** A packet that a client may have to receive later. */
export interface KeptPacket {
  /** Its number among the packets of its sender. */
  readonly number: number;
  /** When it was sent, by the clock of its sender. Rises with each packet of that. */
  readonly at: number;
  readonly rooms: readonly string[];
  readonly except: readonly string[];
  /** Encoded for clients, without an offset. */
  readonly packets: EncodedPackets;
}

/**
 * What a message carries to the other workers: who sent it, its number, and when. With the number of the sender's last broadcast to
 * all workers, if this one is for some workers alone, or follows such ones.
 */
export type Mark = readonly [sender: string, number: number, at: number, after?: number];

/** The number of the broadcast that each worker must have received before this one. */
export const lastToAll = ([, number, , after = number - 1]: Mark): number => after;

/** Approximate memory of a kept packet besides its content, in bytes. */
const PACKET_BYTES = 450;

/** Approximate memory of a kept packet, in bytes. */
function sizeOf({ packets, rooms, except }: KeptPacket): number {
  let bytes = PACKET_BYTES;
  for (const packet of packets) bytes += typeof packet === 'string' ? memoryOfText(packet) : memoryOfBytes(packet);
  for (const room of rooms) bytes += memoryOfText(room);
  for (const room of except) bytes += memoryOfText(room);
  return bytes;
}

/** Attachments may be small parts of a large buffer, such as all that was received at once. That is not kept. */
function withOwnBytes(packet: KeptPacket): KeptPacket {
  if (packet.packets.length === 1) return packet;
  const packets = packet.packets.map((part) =>
    typeof part === 'string' || part.buffer.byteLength < 2 * part.byteLength + SMALL_BYTES ? part : copyOf(part),
  );
  return { ...packet, packets };
}

function copyOf(part: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(part.byteLength);
  copy.set(part);
  return copy;
}

/** A buffer of this size is kept for a part of it, in bytes. */
const SMALL_BYTES = 256;
/** Less is looked at one by one. */
const MIN_INDEXED = 1000;

/** The recent packets of one sender, in order. */
export class Stream {
  /** Packets up to this number are not kept. */
  floor = 0;
  /** When the newest of those was sent, at the latest. */
  floorAt = 0;
  /** The newest packet, which may still be on its way: another keeper that ends leaves packets in parts. */
  last = 0;
  /** By how much the clock of its sender is behind, in ms: that of another machine, whose keeper has ended. */
  lagMs = 0;
  /** When something was last kept here or dropped. */
  usedAt = machineTime();
  private packets: KeptPacket[] = [];
  /** How much there is to look at up to and with each of them: a packet may name many rooms. */
  private looks: number[] = [];
  /** The position of the oldest kept packet. */
  private head = 0;
  private isReleased = false;
  private index: PacketsByRoom | undefined;

  constructor(private readonly memory: PacketMemory) {}

  /** What another keeper goes on with. */
  get state(): StreamState {
    const { floor, floorAt, last, lagMs } = this;
    return { floor, floorAt, last, lagMs, packets: this.packets.slice(this.head) };
  }

  static of({ floor, floorAt, last, lagMs, packets }: StreamState, memory: PacketMemory): Stream {
    const stream = new Stream(memory);
    Object.assign(stream, { floor, floorAt, last, lagMs });
    for (const packet of packets) stream.add(packet);
    return stream;
  }

  /**
   * What goes on with another worker, which counts from 1: packets that were sent since a time, the last one, which has the
   * number `sent`, with the number 0 from now on.
   */
  handedOver(sent: number, since: number): Stream {
    const { packets, head, lagMs, memory } = this;
    let at = packets.length;
    while (at > head && packets[at - 1]!.at + lagMs >= since) at--;
    const { number: floor, at: floorAt } = at > head ? packets[at - 1]! : { number: this.floor, at: this.floorAt };
    const kept = packets.slice(at).map((packet) => ({ ...packet, number: packet.number - sent }));
    return Stream.of({ floor: floor - sent, floorAt, last: 0, lagMs, packets: kept }, memory);
  }

  /** Adds the newest packet. One below the floor is not kept: nothing would drop it again. */
  add(given: KeptPacket): void {
    if (!this.keeps(given.number)) return;
    const packet = withOwnBytes(given);
    this.last = Math.max(this.last, packet.number);
    this.usedAt = machineTime();
    this.packets.push(packet);
    this.looks.push((this.looks.at(-1) ?? 0) + looksOf(packet));
    this.memory.add(this, packet);
  }

  keeps(number: number): boolean {
    return number > this.floor && !this.isReleased;
  }

  /** From now on, packets up to this number are not kept. */
  cut(number: number, at: number): void {
    if (this.isReleased || number <= this.floor) return;
    this.floor = number;
    this.usedAt = machineTime();
    while (this.head < this.packets.length && this.packets[this.head]!.number <= number) {
      this.memory.forget(this.packets[this.head]!);
      // The array is moved later.
      this.packets[this.head++] = undefined as never;
    }
    // Moving the array for each packet would be expensive.
    if (this.head * 2 >= this.packets.length) {
      this.packets = this.packets.slice(this.head);
      this.looks = this.looks.slice(this.head);
      this.head = 0;
    }
    this.floorAt = Math.max(this.floorAt, at);
    this.last = Math.max(this.last, number);
  }

  /** Whether the newest packet is here. If it is not, the hand-over by another keeper goes on, or was interrupted. */
  get isWhole(): boolean {
    return (this.packets.at(-1)?.number ?? this.floor) >= this.last;
  }

  /** Whether packets behind a number and after `since` have not come, because the keeper that left the others has ended. */
  lacksTail(number: number, since: number): boolean {
    return !this.isWhole && number < this.last && since < this.usedAt;
  }

  /** Whether all packets behind a number are kept, those that were sent before `since` excepted. */
  isComplete(number: number, since: number): boolean {
    return this.floor <= number || this.floorAt <= since;
  }

  /**
   * The packets behind a number. Returns undefined if some of them are not kept and were sent after `since`.
   */
  after(number: number, since: number): readonly KeptPacket[] | undefined {
    if (!this.isComplete(number, since)) return undefined;
    return this.packets.slice(firstBehind(this.packets, number, this.head));
  }

  /**
   * The packets behind a number that are for one of the rooms, or for all, each with those of the rooms that it names. Looks
   * at each of them, or looks up each room.
   */
  forRooms(rooms: ReadonlySet<string>, number: number): Iterable<readonly [KeptPacket, readonly string[]]> {
    if (this.isLongFor(rooms, number)) {
      this.indexSome(Number.POSITIVE_INFINITY);
      return this.index!.find(rooms, Math.max(number, this.floor));
    }
    const packets = this.packets.slice(firstBehind(this.packets, number, this.head));
    const found = packets.map((packet) => [packet, roomsFor(packet, rooms)] as const);
    return found.filter((one): one is [KeptPacket, string[]] => one[1] !== undefined);
  }

  /** How much there is to look at behind a number. */
  looksAfter(number: number): number {
    const at = firstBehind(this.packets, number, this.head);
    return at === this.packets.length ? 0 : this.looks.at(-1)! - this.looks[at]! + looksOf(this.packets[at]!);
  }

  /** The same for a client with so many rooms: with an index, they are looked up, and what is not in it yet is added. */
  looksFor(rooms: number, number: number): number {
    const looks = this.looksAfter(number);
    return looks > MIN_INDEXED + rooms ? rooms + this.looksAfter(Math.max(number, this.index?.last ?? 0)) : looks;
  }

  /** Whether more would have to be looked at than the rooms. */
  isLongFor(rooms: ReadonlySet<string>, number: number): boolean {
    return this.looksAfter(number) > MIN_INDEXED + rooms.size;
  }

  /**
   * Adds packets to the index, until there was so much to look at.
   * @returns whether all are in it
   */
  indexSome(looks: number): boolean {
    const { packets, head } = this;
    // Most of what is in it is not kept any more.
    if (this.index && this.index.size > MIN_INDEXED + 2 * this.looksAfter(this.floor)) this.index = undefined;
    this.index ??= new PacketsByRoom();
    const { index } = this;
    const end = index.size + looks;
    let at = firstBehind(packets, index.last, head);
    while (at < packets.length && index.size < end) index.add(packets[at++]!);
    return at === packets.length;
  }

  /** Frees the memory of the index. It is made again for the next client that needs one. */
  sweep(): void {
    this.index = undefined;
  }

  /** Frees the memory of a stream that is not needed any more. */
  release(): void {
    this.isReleased = true;
    for (let at = this.head; at < this.packets.length; at++) this.memory.forget(this.packets[at]!);
    this.packets = [];
    this.looks = [];
    this.head = 0;
    this.index = undefined;
  }
}

/** Bounds the memory of all streams of a worker: the oldest packets are dropped first. */
export class PacketMemory {
  /** Approximate memory of all kept packets. */
  bytes = 0;
  /** The number of kept packets. */
  size = 0;
  /** Packets dropped since the start to stay within the bound. */
  dropped = 0;
  /** In the order in which they are dropped. Some may have been forgotten already, so that it does not hold the packets. */
  private queue: Queued[] = [];
  private head = 0;

  constructor(public maxBytes: number) {}

  /** Counts a packet that a stream keeps from now on. */
  add(stream: Stream, packet: KeptPacket): void {
    this.queue.push({ stream, number: packet.number, at: packet.at, keptAt: machineTime() });
    this.size++;
    this.bytes += sizeOf(packet);
    while (this.bytes > this.maxBytes && this.head < this.queue.length) if (this.dropOldest()) this.dropped++;
  }

  /** Called by a stream for each packet that it does not keep any more. */
  forget(packet: KeptPacket): void {
    this.size--;
    this.bytes -= sizeOf(packet);
    const { length } = this.queue;
    if (length > MIN_COMPACTED && length > 2 * this.size) this.compact();
  }

  /** Drops the packets that are kept since before a time. */
  dropBefore(time: number): void {
    while (this.head < this.queue.length && this.queue[this.head]!.keptAt < time) this.dropOldest();
  }

  /** Returns whether the packet was still kept. */
  private dropOldest(): boolean {
    const { stream, number, at } = this.queue[this.head++]!;
    const wasKept = stream.keeps(number);
    stream.cut(number, at + stream.lagMs);
    return wasKept;
  }

  private compact(): void {
    this.queue = this.queue.slice(this.head).filter(({ stream, number }) => stream.keeps(number));
    this.head = 0;
  }
}

const MIN_COMPACTED = 1024;

interface Queued {
  readonly stream: Stream;
  readonly number: number;
  readonly at: number;
  readonly keptAt: number;
}
