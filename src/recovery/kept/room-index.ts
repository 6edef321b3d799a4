/** What an index needs of a packet. */
interface Indexed {
  readonly number: number;
  readonly rooms: readonly string[];
}

/** The packets of one sender by room. It is made when a client returns that lacks many packets, and not before. */
export class RoomIndex<Packet extends Indexed> {
  /** The number of the newest packet in it. */
  last = 0;
  /** How many packets it has taken, those that are not kept any more included. */
  size = 0;
  /** Whether it was used since the last sweep. */
  isUsed = true;
  private readonly rooms = new Map<string, Packet[]>();
  private readonly toAll: Packet[] = [];

  add(packet: Packet): void {
    this.last = packet.number;
    this.size++;
    if (packet.rooms.length === 0) this.toAll.push(packet);
    for (const room of packet.rooms) {
      const packets = this.rooms.get(room);
      if (packets) packets.push(packet);
      else this.rooms.set(room, [packet]);
    }
  }

  /** The packets behind a number that are for one of the rooms, or for all. */
  find(rooms: ReadonlySet<string>, number: number): Iterable<Packet> {
    // A packet may be for several rooms.
    const found = new Set<Packet>();
    const collect = (packets: readonly Packet[]) => {
      for (let at = firstBehind(packets, number); at < packets.length; at++) found.add(packets[at]!);
    };
    collect(this.toAll);
    for (const room of rooms) {
      const packets = this.rooms.get(room);
      if (packets) collect(packets);
    }
    return found;
  }
}

/** The position of the first packet behind a number. Packets are in order. */
export function firstBehind(packets: readonly Indexed[], number: number, head = 0): number {
  let [low, high] = [head, packets.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (packets[middle]!.number > number) high = middle;
    else low = middle + 1;
  }
  return low;
}
