import { FloorCheck } from '../kept/floors.js';
import type { PacketLog } from '../kept/packet-log.js';
import type { KeptSession } from '../kept/sessions.js';
import type { KeptPacket } from '../kept/stream.js';
import { decodeOffset, numbersIn, type Offset, offsetWith } from '../offset.js';
import type { ForeignMessages } from './foreign.js';

/** A client that is being recovered. */
export interface Returning {
  readonly session: KeptSession;
  readonly offset: Offset;
  /** The offset as text. */
  readonly resumedFrom: string;
  /** How many packets to it alone it has received from the worker that served it last. */
  readonly direct: number;
}

/** What a client that sends this offset has received; undefined if that is not known. */
export function returningOf(session: KeptSession, offset: Offset, resumedFrom: string): Returning | undefined {
  // The client has received nothing from the worker that recovered it last.
  if (resumedFrom === session.resumedFrom) return { session, offset, resumedFrom, direct: 0 };
  if (offset.worker === session.worker) return { session, offset, resumedFrom, direct: offset.direct };
  // The same, but the worker that handed the session over had named a later offset.
  const named = session.resumedFrom === undefined ? undefined : decodeOffset(session.resumedFrom);
  if (!named || named.at < offset.at) return undefined;
  // The client has answered a ping since.
  if (named.at <= session.aliveAt) return { session, offset: named, resumedFrom: session.resumedFrom!, direct: 0 };
  // That worker had sent nothing to this client alone that the client lacks. Broadcasts are kept everywhere.
  const hasDirect = offset.worker === named.worker && offset.direct >= named.direct;
  return hasDirect ? { session, offset, resumedFrom, direct: 0 } : undefined;
}

/** The offset of a client that has received no event yet: what its worker had received when the client connected. */
export function beginningOf({ resumedFrom, worker, aliveAt, floors = [] }: KeptSession): string {
  const { at, numbers } = floors.find(({ rooms }) => !rooms) ?? { at: aliveAt, numbers: '' };
  return resumedFrom ?? offsetWith(at, worker, 0, numbers);
}

/** A packet that a client lacks. */
export interface Missed {
  /** Undefined for a packet to this socket alone. */
  readonly sender: string | undefined;
  readonly packet: KeptPacket;
}

/** The rooms of a session, as packets name them. */
export const roomsOf = ({ rooms }: KeptSession): ReadonlySet<string> => new Set(rooms.map(String));

/**
 * What a client lacks, in order, or undefined if this worker cannot know all of it.
 * @param slackMs by how much the times of this worker and of the one that served the client may differ
 */
export function missedBy(
  { session, offset, direct: received }: Returning,
  log: PacketLog,
  foreign: ForeignMessages,
  slackMs: number,
): Missed[] | undefined {
  const { aliveAt, direct: stream } = session;
  const rooms = roomsOf(session);
  if (foreign.hasFor(rooms, offset.at - slackMs)) return undefined;
  const direct = stream.after(received, aliveAt);
  const broadcasts = log.after(offset, aliveAt - slackMs, rooms);
  if (!direct || !broadcasts) return undefined;
  const floors = new FloorCheck(session.floors);
  const has = numbersIn(session.has ?? '');
  const isAbove = (sender: string, packet: KeptPacket) =>
    packet.rooms.length === 0
      ? floors.isAbove(undefined, sender, packet)
      : packet.rooms.some((room) => rooms.has(room) && floors.isAbove(room, sender, packet));
  const missed: Missed[] = direct.map((packet) => ({ sender: undefined, packet }));
  for (const [sender, packet] of broadcasts) {
    if (packet.number <= (has.get(sender) ?? 0)) continue;
    const isExcepted = packet.except.some((room) => rooms.has(room));
    if (isAbove(sender, packet) && !isExcepted) missed.push({ sender, packet });
  }
  return missed.sort((one, other) => one.packet.at - other.packet.at);
}
