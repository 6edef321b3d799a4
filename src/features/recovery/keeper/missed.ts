import type { SessionState } from '../messages.js';
import { decodeOffset, encodeOffset, type Offset, UNKNOWN_TIME } from '../offset.js';
import { VersionVector } from '../version-vector.js';

/** What a client that returns has received. */
export interface Received {
  readonly offset: Offset;
  /** The offset as text. */
  readonly resumedFrom: string;
  /** How many packets to it alone it has received from the worker that served it last. */
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
  // It has received nothing from the worker on which its session began, or the last ones to which it was handed over.
  const workers = [...VersionVector.parse(handedOver)];
  const at = workers.findIndex(([one]) => one === offset.worker);
  const [, sent] = workers[at] ?? [undefined, text === named ? 0 : Number.POSITIVE_INFINITY];
  // They had sent nothing to this client alone that it lacks. Broadcasts are kept elsewhere.
  const hasDirect = offset.direct >= sent && workers.slice(at + 1).every(([, direct]) => direct === 0);
  return hasDirect ? { offset, resumedFrom: text, direct: 0 } : undefined;
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
