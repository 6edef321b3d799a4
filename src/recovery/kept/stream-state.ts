import { type KeptPacket, sizeOf } from './stream.js';

/** The number of packets in one part of a log. */
const PART_PACKETS = 500;
/** Approximate size of a part without its packets, in bytes. */
const STATE_BYTES = 100;

/** A part of a worker's log, as another worker reads it. */
export interface StreamState {
  readonly sender: string;
  readonly floor: number;
  readonly floorAt: number;
  readonly last: number;
  readonly lastAt: number;
  readonly packets: readonly KeptPacket[];
}

/**
 * The same in parts, the newest first, each with its approximate size in bytes. Each continues the one before it.
 * @param maxBytes the size of a part with more than one packet
 */
export function* parted(
  state: StreamState,
  maxBytes = Number.POSITIVE_INFINITY,
): Iterable<[part: StreamState, bytes: number]> {
  const { packets } = state;
  if (packets.length === 0) yield [state, STATE_BYTES];
  let { last, lastAt } = state;
  for (let end = packets.length; end > 0; ) {
    let start = end;
    let bytes = STATE_BYTES;
    while (start > 0 && end - start < PART_PACKETS) {
      const size = sizeOf(packets[start - 1]!);
      if (start < end && bytes + size > maxBytes) break;
      bytes += size;
      start--;
    }
    const before = packets[start - 1];
    const floor = before ? before.number : state.floor;
    const floorAt = before ? before.at : state.floorAt;
    yield [{ ...state, floor, floorAt, last, lastAt, packets: packets.slice(start, end) }, bytes];
    end = start;
    last = floor;
    lastAt = floorAt;
  }
}

/** The same up to the first packet for which this is true. */
export function before(state: StreamState, isIt: (at: number) => boolean): StreamState {
  const end = state.packets.findIndex(({ at }) => isIt(at));
  if (end < 0) return state;
  const newest = state.packets[end - 1] ?? { number: state.floor, at: state.floorAt };
  return { ...state, last: newest.number, lastAt: newest.at, packets: state.packets.slice(0, end) };
}
