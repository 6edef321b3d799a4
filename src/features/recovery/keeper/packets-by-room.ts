import type { KeptPacket } from './stream.js';

/** How much there is to look at in a packet. */
export function looksOf({ rooms, except }: KeptPacket): number {
  return 1 + rooms.length + except.length;
}

/** Those of a client's rooms to which a packet was sent, none for a packet to all; undefined if it is not for the client. */
export function roomsFor({ rooms, except }: KeptPacket, ofClient: ReadonlySet<string>): string[] | undefined {
  const isIn = (room: string) => ofClient.has(room);
  if (except.some(isIn)) return undefined;
  const joined = rooms.filter(isIn);
  return rooms.length === 0 || joined.length > 0 ? joined : undefined;
}

/** The packets of one sender by room. It is made when a client returns that lacks many packets, and not before. */
export class PacketsByRoom {
  /** The number of the newest packet in it. */
  last = 0;
  /** How much it has looked at, packets that are not kept any more included. */
  size = 0;
  private readonly rooms = new Map<string, KeptPacket[]>();
  private readonly except = new Map<string, KeptPacket[]>();
  private readonly toAll: KeptPacket[] = [];

  add(packet: KeptPacket): void {
    this.last = packet.number;
    this.size += looksOf(packet);
    if (packet.rooms.length === 0) this.toAll.push(packet);
    for (const room of packet.rooms) list(this.rooms, room, packet);
    for (const room of packet.except) list(this.except, room, packet);
  }

  /** See `forRooms()` of the stream. */
  find(rooms: ReadonlySet<string>, number: number): Iterable<readonly [KeptPacket, readonly string[]]> {
    // A packet may be for several rooms.
    const found = new Map<KeptPacket, string[]>();
    for (const packet of behind(this.toAll, number)) found.set(packet, []);
    for (const room of rooms) {
      for (const packet of behind(this.rooms.get(room), number)) {
        const known = found.get(packet);
        if (known) known.push(room);
        else found.set(packet, [room]);
      }
    }
    for (const room of rooms) for (const packet of behind(this.except.get(room), number)) found.delete(packet);
    return found;
  }
}

function list(byRoom: Map<string, KeptPacket[]>, room: string, packet: KeptPacket): void {
  const packets = byRoom.get(room);
  if (packets) packets.push(packet);
  else byRoom.set(room, [packet]);
}

function behind(packets: readonly KeptPacket[] = [], number: number): readonly KeptPacket[] {
  return packets.slice(firstBehind(packets, number));
}

/** The position of the first packet behind a number. Packets are in order. */
export function firstBehind(packets: readonly KeptPacket[], number: number, head = 0): number {
  let [low, high] = [head, packets.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (packets[middle]!.number > number) high = middle;
    else low = middle + 1;
  }
  return low;
}
