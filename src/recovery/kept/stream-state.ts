import type { KeptPacket } from './stream.js';

/** The number of packets in one part of a log. */
const PART_PACKETS = 500;

/** A part of a worker's log, as another worker reads it. */
export interface StreamState {
  readonly sender: string;
  readonly floor: number;
  readonly floorAt: number;
  readonly last: number;
  readonly lastAt: number;
  readonly packets: readonly KeptPacket[];
}

/** The same in parts, the newest first. Each continues the one before it. */
export function* parted(state: StreamState): Iterable<StreamState> {
  const { packets } = state;
  if (packets.length === 0) yield state;
  let { last, lastAt } = state;
  for (let end = packets.length; end > 0; end -= PART_PACKETS) {
    const start = Math.max(0, end - PART_PACKETS);
    const before = packets[start - 1];
    const floor = before ? before.number : state.floor;
    const floorAt = before ? before.at : state.floorAt;
    yield { ...state, floor, floorAt, last, lastAt, packets: packets.slice(start, end) };
    last = floor;
    lastAt = floorAt;
  }
}
