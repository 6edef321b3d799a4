import type { SessionState } from '../messages.js';
import { decodeOffset, encodeOffset, type Offset } from '../offset.js';
import { VersionVector } from '../version-vector.js';

/** What a client that returns has received. */
export interface Received {
  readonly offset: Offset;
  /** The offset as text. */
  readonly resumedFrom: string;
  /** How many packets to it alone it has received from the worker that served it last. */
  readonly direct: number;
}

/** What a client that sends this offset has received; undefined if that is not known. */
export function receivedWith(session: SessionState, text: string): Received | undefined {
  const offset = decodeOffset(text)!;
  // The client has received nothing from the worker that recovered it last.
  if (text === session.resumedFrom) return { offset, resumedFrom: text, direct: 0 };
  if (offset.worker === session.worker) return { offset, resumedFrom: text, direct: offset.direct };
  // Nor from the one on which the session began: the client still names an event of the session before.
  if (session.resumedFrom === undefined)
    return offset.at <= session.aliveAt ? { offset, resumedFrom: text, direct: 0 } : undefined;
  // The same, but the worker that handed the session over had named a later offset.
  const named = decodeOffset(session.resumedFrom)!;
  if (named.at < offset.at) return undefined;
  // The client has answered a ping since.
  if (named.at <= session.aliveAt) return { offset: named, resumedFrom: session.resumedFrom, direct: 0 };
  // That worker had sent nothing to this client alone that the client lacks. Broadcasts are kept elsewhere.
  const hasDirect = offset.worker === named.worker && offset.direct >= named.direct;
  return hasDirect ? { offset, resumedFrom: text, direct: 0 } : undefined;
}

/** What a client that names this offset has received beyond it. */
export function receivedBeyond({ alsoReceived, replayed, worker }: SessionState, offset: Offset): string | undefined {
  // Its connection may have broken while that was on its way.
  if (!replayed || offset.worker !== worker || offset.direct <= replayed.direct) return alsoReceived;
  return `${VersionVector.union(VersionVector.parse(alsoReceived), VersionVector.parse(replayed.numbers))}`;
}

/** The offset of a client that has received no event yet: what its worker had received when the client connected. */
export function beginningOf({ resumedFrom, worker, aliveAt, floors = [] }: SessionState): string {
  const { at, numbers } = floors.find(({ rooms }) => !rooms) ?? { at: Math.max(0, aliveAt), numbers: '' };
  return resumedFrom ?? encodeOffset(at, worker, 0, VersionVector.parse(numbers));
}
