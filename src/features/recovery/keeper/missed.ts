import type { SessionState } from '../messages.js';
import { decodeOffset, encodeOffset, type Offset, UNKNOWN_TIME } from '../offset.js';
import { VersionVector } from '../version-vector.js';

/** What a client that returns has received. */
export interface Received {
  readonly offset: Offset;
  /** The offset as text. */
  readonly resumedFrom: string;
  /** The number of the last packet to it alone that it has received, as {@link Stream.handedOver} has them. */
  readonly direct: number;
}

/**
 * What a client that sends this offset has received; undefined if that is not known.
 * @param timeOf when the packet of an offset was sent, if that is known
 */
export function receivedWith(
  { resumedFrom, named, handedOver, worker, aliveAt }: SessionState,
  text: string,
  timeOf: (offset: Offset) => number | undefined,
): Received | undefined {
  const offset = decodeOffset(text)!;
  // The client has received nothing from the worker that recovered it last.
  if (text === resumedFrom) return { offset, resumedFrom: text, direct: 0 };
  if (offset.worker === worker) return { offset, resumedFrom: text, direct: offset.direct };
  if (handedOver && resumedFrom !== undefined) {
    const last = decodeOffset(resumedFrom)!;
    // It has answered a ping since it was handed over.
    if ((timeOf(last) ?? Number.POSITIVE_INFINITY) <= aliveAt) return { offset: last, resumedFrom, direct: 0 };
  }
  // Either the offset names a worker that has handed the client over: the keeper has given the last packets of that worker new
  // numbers. Or the client has received nothing since its session began on the first worker.
  const workers = [...VersionVector.parse(handedOver)];
  const at = workers.findIndex(([one]) => one === offset.worker);
  if (at === -1) return text === named ? { offset, resumedFrom: text, direct: Number.NEGATIVE_INFINITY } : undefined;
  const sent = workers.slice(at).reduce((sum, [, direct]) => sum + direct, 0);
  return { offset, resumedFrom: text, direct: offset.direct - sent };
}

/** What a client that names this offset has received beyond it. */
export function receivedBeyond({ alsoReceived, replayed, worker }: SessionState, offset: Offset): string | undefined {
  // Its connection may have broken while that was on its way.
  if (!replayed || offset.worker !== worker || offset.direct <= replayed.direct) return alsoReceived;
  return `${VersionVector.union(VersionVector.parse(alsoReceived), VersionVector.parse(replayed.numbers))}`;
}

/** The offset of a client that has received no event yet: what its worker had received when the client connected. */
export function beginningOf({ resumedFrom, worker, floors = [] }: SessionState): string {
  const { numbers } = floors.find(({ rooms }) => !rooms) ?? { numbers: '' };
  return resumedFrom ?? encodeOffset(UNKNOWN_TIME, worker, 0, VersionVector.parse(numbers));
}
