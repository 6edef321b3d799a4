import type { EncodedPackets } from '../../encoded-packet.js';

/** A packet that a client may have to receive later. */
export interface KeptPacket {
  /** Its number among the packets of its sender. */
  readonly number: number;
  /** When it was sent, in ms since 1970. Rises with each packet of a sender. */
  readonly at: number;
  readonly rooms: readonly string[];
  readonly except: readonly string[];
  /** Encoded for clients, without an offset. */
  readonly packets: EncodedPackets;
}

/** Approximate memory of a kept packet besides its content, in bytes. */
const PACKET_BYTES = 256;

function sizeOf({ packets, rooms, except }: KeptPacket): number {
  let bytes = PACKET_BYTES;
  for (const packet of packets) bytes += packet.length;
  for (const room of rooms) bytes += room.length;
  for (const room of except) bytes += room.length;
  return bytes;
}

/** The recent packets of one sender, in order. */
export class Stream {
  /** Packets up to this number are not kept. */
  floor = 0;
  /** When the newest of those was sent, at the latest. */
  floorAt = 0;
  /** The newest packet. */
  last = 0;
  lastAt = 0;
  private packets: KeptPacket[] = [];
  /** The position of the oldest kept packet. */
  private head = 0;
  private isReleased = false;

  constructor(private readonly memory: PacketMemory) {}

  get kept(): readonly KeptPacket[] {
    return this.head === 0 ? this.packets : this.packets.slice(this.head);
  }

  add(packet: KeptPacket): void {
    this.last = packet.number;
    this.lastAt = packet.at;
    this.packets.push(packet);
    this.memory.add(this, packet);
  }

  /** Adds older packets, which another worker has kept. */
  prepend(older: readonly KeptPacket[], floor: number, floorAt: number): void {
    this.packets = [...older, ...this.kept];
    this.head = 0;
    this.floor = floor;
    this.floorAt = floorAt;
    for (const packet of older) this.memory.add(this, packet);
  }

  keeps({ number }: KeptPacket): boolean {
    return number > this.floor && !this.isReleased;
  }

  /** From now on, packets up to this number are not kept. */
  cut(number: number, at: number): void {
    if (this.isReleased || number <= this.floor) return;
    this.floor = number;
    while (this.head < this.packets.length && this.packets[this.head]!.number <= number) {
      this.memory.forget(this.packets[this.head++]!);
    }
    // Moving the array for each packet would be expensive.
    if (this.head * 2 >= this.packets.length) {
      this.packets = this.packets.slice(this.head);
      this.head = 0;
    }
    this.floorAt = Math.max(this.floorAt, at);
    this.last = Math.max(this.last, number);
  }

  /**
   * The packets behind a number. Returns undefined if some of them are not kept and were sent after `since`.
   */
  after(number: number, since: number): readonly KeptPacket[] | undefined {
    if (this.floor > number && this.floorAt > since) return undefined;
    const { packets } = this;
    let from = packets.length;
    while (from > this.head && packets[from - 1]!.number > number) from--;
    return packets.slice(from);
  }

  /** Frees the memory of a stream that is not needed any more. */
  release(): void {
    this.isReleased = true;
    for (const packet of this.kept) this.memory.forget(packet);
    this.packets = [];
    this.head = 0;
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
  /** In the order in which they are dropped. Some may have been forgotten already. */
  private queue: { readonly stream: Stream; readonly packet: KeptPacket }[] = [];
  private head = 0;

  constructor(private readonly maxBytes: number) {}

  add(stream: Stream, packet: KeptPacket): void {
    this.queue.push({ stream, packet });
    this.size++;
    this.bytes += sizeOf(packet);
    while (this.bytes > this.maxBytes) if (this.dropOldest()) this.dropped++;
  }

  /** Called by a stream for each packet that it does not keep any more. */
  forget(packet: KeptPacket): void {
    this.size--;
    this.bytes -= sizeOf(packet);
    const { length } = this.queue;
    if (length > MIN_COMPACTED && length > 2 * this.size) this.compact();
  }

  /** Drops the packets that were sent before a time. */
  dropBefore(time: number): void {
    while (this.head < this.queue.length && this.queue[this.head]!.packet.at < time) this.dropOldest();
  }

  /** Returns whether the packet was still kept. */
  private dropOldest(): boolean {
    const { stream, packet } = this.queue[this.head++]!;
    const wasKept = stream.keeps(packet);
    stream.cut(packet.number, packet.at);
    return wasKept;
  }

  private compact(): void {
    this.queue = this.queue.slice(this.head).filter(({ stream, packet }) => stream.keeps(packet));
    this.head = 0;
  }
}

const MIN_COMPACTED = 1024;
