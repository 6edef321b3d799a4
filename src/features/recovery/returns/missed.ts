import { systemClock } from '../../../engine/clock.js';
import { Allowance } from '../../../engine/limits/rates.js';
import { FloorCheck } from '../kept/memory.js';
import type { PacketLog } from '../kept/packet-log.js';
import type { KeptSession } from '../kept/sessions.js';
import type { KeptPacket } from '../kept/stream.js';
import { decodeOffset, numbersIn, type Offset, offsetWith } from '../offset.js';
import { type ForeignMessages, Turns } from './foreign.js';

/** How much the offsets of clients that wait may take, in characters. */
const MAX_WAITING = 16 * 1024 * 1024;
/** Attempts to recover one session at once. A client may try again before its last attempt has ended. */
const MAX_OF_SESSION = 4;

/** The time in which all clients together may be sent so much, in ms. */
const REPLAY_MS = 10_000;

/** The bounds of recoveries that all clients share. */
interface GateBounds {
  readonly maxRecovering: number;
  readonly maxReplayed: number;
  readonly maxReplayedBytes: number;
}

/** What a client has missed. */
export interface Size {
  readonly packets: number;
  readonly bytes: number;
}

/** Counts the recoveries in progress on a worker, bounds what all of them send, and spreads their work. */
export class Gate {
  readonly turns = new Turns();
  private readonly sessions = new Map<string, number>();
  private count = 0;
  private waiting = 0;
  private readonly packets: Allowance;
  private readonly bytes: Allowance;

  constructor(
    private readonly bounds: GateBounds,
    private readonly clock = systemClock,
  ) {
    this.packets = new Allowance({ amount: bounds.maxReplayed, per: REPLAY_MS }, clock.now());
    this.bytes = new Allowance({ amount: bounds.maxReplayedBytes, per: REPLAY_MS }, clock.now());
  }

  /** Whether a client may still be sent what it has missed. If so, that counts from now on. */
  mayReplay({ packets, bytes }: Size): boolean {
    const now = this.clock.now();
    if (!this.packets.has(packets, now) || !this.bytes.has(bytes, now)) return false;
    this.packets.consume(packets, now);
    this.bytes.consume(bytes, now);
    return true;
  }

  /** @returns false if there are too many. If not, `leave()` must follow. */
  enter(pid: string, offset: string): boolean {
    const ofSession = this.sessions.get(pid) ?? 0;
    if (this.count >= this.bounds.maxRecovering || ofSession >= MAX_OF_SESSION) return false;
    if (this.waiting + offset.length > MAX_WAITING) return false;
    this.waiting += offset.length;
    this.sessions.set(pid, ofSession + 1);
    this.count++;
    return true;
  }

  leave(pid: string, offset: string): void {
    this.waiting -= offset.length;
    const ofSession = this.sessions.get(pid)! - 1;
    if (ofSession > 0) this.sessions.set(pid, ofSession);
    else this.sessions.delete(pid);
    this.count--;
  }
}

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
