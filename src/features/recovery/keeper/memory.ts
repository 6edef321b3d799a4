import { serialize } from 'node:v8';
import { machineTime } from '../../../base/clock.js';
import { canonicalAddress } from '../../../engine/limits/address-limits.js';
import type { SessionState } from '../messages.js';
import { VersionVector } from '../version-vector.js';
import type { KeptPacket } from './stream.js';

/**
 * What a worker had received when a socket connected, or joined a room. An offset may name older packets, because its
 * client last received one before it joined, or because the client has made it up. Those are not for it.
 */
export interface Floor {
  /** When that was. */
  readonly at: number;
  /** The broadcasts received: a {@link VersionVector}. */
  readonly numbers: string;
}

/** A floor as workers exchange it. */
export interface RoomsFloor extends Floor {
  /** The rooms that were joined then. Undefined for the floor of all others: the socket connected then. */
  readonly rooms?: readonly string[] | undefined;
}

/** The packets of a worker that this one knows not, as it joined, were sent later, except for those on their way, in ms. */
const MAX_DELAY_MS = 1000;

/** The floors of a connected socket. Those of rooms that were joined at once are one object. */
export class Floors {
  private rooms: Map<string, Floor> | undefined;

  /** @param base counts for all rooms that have none of their own */
  constructor(private base: Floor | undefined) {}

  static of(kept: readonly RoomsFloor[] = []): Floors {
    const floors = new Floors(kept.find(({ rooms }) => !rooms));
    for (const floor of kept) for (const room of floor.rooms ?? []) floors.join(room, floor);
    return floors;
  }

  join(room: string, floor: Floor): void {
    if (floor === this.base) return;
    this.rooms ??= new Map();
    this.rooms.set(room, floor);
  }

  leave(room: string): void {
    this.rooms?.delete(room);
  }

  /**
   * Forgets the floors of before a time: older packets are not kept any more.
   * @returns whether some are left
   */
  dropBefore(time: number): boolean {
    if (this.base && this.base.at < time) this.base = undefined;
    for (const [room, { at }] of this.rooms ?? []) if (at < time) this.rooms!.delete(room);
    if (this.rooms?.size === 0) this.rooms = undefined;
    return this.base !== undefined || this.rooms !== undefined;
  }

  state(): RoomsFloor[] {
    const grouped = new Map<Floor, string[]>();
    for (const [room, floor] of this.rooms ?? []) {
      const rooms = grouped.get(floor);
      if (rooms) rooms.push(room);
      else grouped.set(floor, [room]);
    }
    const state: RoomsFloor[] = this.base ? [{ at: this.base.at, numbers: this.base.numbers }] : [];
    for (const [{ at, numbers }, rooms] of grouped) state.push({ at, numbers, rooms });
    return state;
  }
}

/** Tells which packets were sent to a room after a socket had joined it. */
export class FloorCheck {
  private readonly base: RoomsFloor | undefined;
  private readonly rooms = new Map<string, RoomsFloor>();
  private readonly read = new Map<RoomsFloor, VersionVector>();

  /** @param isLater whether a packet of a sender that a floor does not name is above it */
  constructor(
    floors: readonly RoomsFloor[] = [],
    private readonly isLater = (at: number, floor: number) => at >= floor - MAX_DELAY_MS,
  ) {
    this.base = floors.find(({ rooms }) => !rooms);
    for (const floor of floors) for (const room of floor.rooms ?? []) this.rooms.set(room, floor);
  }

  /** @param rooms none for a packet to all */
  isAbove(rooms: readonly string[], sender: string, packet: Pick<KeptPacket, 'number' | 'at'>): boolean {
    if (rooms.length === 0) return this.isAboveOf(undefined, sender, packet);
    return rooms.some((room) => this.isAboveOf(room, sender, packet));
  }

  private isAboveOf(
    room: string | undefined,
    sender: string,
    { number, at }: Pick<KeptPacket, 'number' | 'at'>,
  ): boolean {
    const floor = (room !== undefined && this.rooms.get(room)) || this.base;
    if (!floor) return true;
    let numbers = this.read.get(floor);
    if (!numbers) {
      numbers = VersionVector.parse(floor.numbers);
      this.read.set(floor, numbers);
    }
    return numbers.knows(sender) ? number > numbers.of(sender) : this.isLater(at, floor.at);
  }
}

/** Whose sessions the operator ends: of a user, of an address, of one socket or connection, or of all members of a room. */
export type RemovalTarget =
  | { user: string }
  | { address: string }
  | { id: string }
  | { room: string; namespace: string };

/** The parts of a session that tell whose it is. */
type Described = Pick<SessionState, 'sid' | 'rooms' | 'user' | 'address' | 'connection'>;

/** Sessions are removed that end up to so long after the operator's action, in ms: clocks of machines differ. */
const SLACK_MS = 1000;
/** The number of removals that are remembered. */
const MAX_REMEMBERED = 10_000;

/**
 * The sessions that the operator has ended in one namespace. What another worker had sent of such a session may arrive
 * afterwards, so that each removal is remembered for as long as sessions can be recovered.
 */
export class Removals {
  /** When the operator acted, by what names the sessions. */
  private readonly at = new Map<string, number>();

  /** Remembers a removal. Returns whether a session is one of those. */
  add(target: RemovalTarget): (session: Described) => boolean {
    const key = this.keyOf(target);
    this.at.delete(key);
    this.at.set(key, machineTime());
    const [oldest] = this.at.keys();
    if (this.at.size > MAX_REMEMBERED) this.at.delete(oldest!);
    return (session) => this.keysOf(session).includes(key);
  }

  /** Whether a session was removed after it had ended. */
  covers(session: Described & { readonly disconnectedAt: number }): boolean {
    if (this.at.size === 0) return false;
    const latest = session.disconnectedAt - SLACK_MS;
    return this.keysOf(session).some((key) => (this.at.get(key) ?? Number.NEGATIVE_INFINITY) >= latest);
  }

  sweep(oldest: number): void {
    for (const [key, at] of this.at) if (at < oldest) this.at.delete(key);
  }

  private keyOf(target: RemovalTarget): string {
    if ('user' in target) return `user ${target.user}`;
    if ('room' in target) return `room ${target.room}`;
    return 'id' in target ? `id ${target.id}` : `address ${canonicalAddress(target.address)}`;
  }

  private keysOf({ sid, rooms, user, address, connection }: Described): string[] {
    const keys = rooms.map((room) => `room ${room}`);
    keys.push(`id ${sid}`);
    if (connection !== undefined) keys.push(`id ${connection}`);
    if (address !== undefined) keys.push(`address ${canonicalAddress(address)}`);
    if (user !== undefined) keys.push(`user ${user}`);
    return keys;
  }
}

/** A message that nothing numbers: of an emitter, or of a server without recovery. */
interface UnnumberedMessage extends Pick<KeptPacket, 'rooms' | 'except'> {
  /** When it arrived. */
  readonly at: number;
}

const MAX_MESSAGES = 10_000;

/** The recent messages without a mark. A client that may lack one is not recovered. */
export class UnnumberedMessages {
  /** All that have arrived since then are remembered. */
  private since = 0;
  private hasAny = false;
  /** The oldest first. */
  private messages: UnnumberedMessage[] = [];

  /** @param max how many are remembered */
  constructor(private readonly max = MAX_MESSAGES) {}

  add({ at, rooms, except }: UnnumberedMessage): void {
    this.hasAny = true;
    this.messages.push({ at, rooms, except });
    if (this.messages.length > this.max) this.since = this.messages.shift()!.at;
  }

  /** Some may have been lost. Where none ever arrive, none are, as far as that is known. */
  lose(mayHaveBeen = this.hasAny): void {
    if (mayHaveBeen) this.since = machineTime();
  }

  /** Whether one arrived since a time that a client with these rooms was to receive. */
  hasFor(rooms: ReadonlySet<string>, since: number): boolean {
    if (since < this.since) return true;
    for (let index = this.messages.length - 1; index >= 0 && this.messages[index]!.at >= since; index--) {
      if (isFor(rooms, this.messages[index]!)) return true;
    }
    return false;
  }

  /** Forgets what arrived before a time. */
  sweep(oldest: number): void {
    while (this.messages[0] && this.messages[0].at < oldest) this.messages.shift();
  }
}

function isFor(members: ReadonlySet<string>, { rooms, except }: UnnumberedMessage): boolean {
  const isIn = (room: string) => members.has(room);
  return (rooms.length === 0 || rooms.some(isIn)) && !except.some(isIn);
}

/** A text on V8's heap besides its characters, in bytes. */
const TEXT = 24;
/** A view on memory outside of the heap, and that memory's own header, in bytes. */
const VIEW = 320;
/** Shorter texts are not looked at: they count as if each of their characters took two bytes. */
const MIN_CHECKED_TEXT = 256;
/** Data that cannot be serialized, such as functions, counts as so many bytes. */
const UNKNOWN_BYTES = 4096;
/** On the heap, values take about so many times the bytes that they take serialized, and rather less. */
const OF_SERIALIZED = 8;

/** Approximate memory of a text on the heap, in bytes. */
export function memoryOfText(text: string | undefined): number {
  if (text === undefined) return 0;
  const { length } = text;
  const isNarrow = length >= MIN_CHECKED_TEXT && Buffer.byteLength(text) === length;
  return TEXT + (isNarrow ? length : 2 * length);
}

/** The same of bytes, which are not on the heap. */
export function memoryOfBytes({ byteLength }: { readonly byteLength: number }): number {
  return VIEW + byteLength;
}

/** The same of packed data, or in the process of the only worker of the data itself. */
export function memoryOfData(data: unknown): number {
  if (typeof data === 'string') return memoryOfText(data);
  try {
    return OF_SERIALIZED * serialize(data).length;
  } catch {
    return UNKNOWN_BYTES;
  }
}
