import { numbersIn } from '../offset.js';
import type { KeptPacket } from './stream.js';

/**
 * What a worker had received when a socket connected, or joined a room. An offset may name older packets, because its
 * client last received one before it joined, or because the client has made it up. Those are not for it.
 */
export interface Floor {
  /** When that was, in ms since 1970. */
  readonly at: number;
  /** The numbers of the broadcasts received, as in an offset. */
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
  private rooms: Map<string | number, Floor> | undefined;

  /** @param base counts for all rooms that have none of their own */
  constructor(private base: Floor | undefined) {}

  static of(kept: readonly RoomsFloor[] = []): Floors {
    const floors = new Floors(kept.find(({ rooms }) => !rooms));
    for (const floor of kept) for (const room of floor.rooms ?? []) floors.join(room, floor);
    return floors;
  }

  join(room: string | number, floor: Floor): void {
    if (floor === this.base) return;
    this.rooms ??= new Map();
    this.rooms.set(room, floor);
  }

  leave(room: string | number): void {
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
      if (rooms) rooms.push(String(room));
      else grouped.set(floor, [String(room)]);
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
  private readonly read = new Map<RoomsFloor, ReadonlyMap<string, number>>();

  constructor(floors: readonly RoomsFloor[] = []) {
    this.base = floors.find(({ rooms }) => !rooms);
    for (const floor of floors) for (const room of floor.rooms ?? []) this.rooms.set(room, floor);
  }

  /** @param room undefined for a packet to all */
  isAbove(room: string | undefined, sender: string, { number, at }: Pick<KeptPacket, 'number' | 'at'>): boolean {
    const floor = (room !== undefined && this.rooms.get(room)) || this.base;
    if (!floor) return true;
    let numbers = this.read.get(floor);
    if (!numbers) {
      numbers = numbersIn(floor.numbers);
      this.read.set(floor, numbers);
    }
    const known = numbers.get(sender);
    return known === undefined ? at >= floor.at - MAX_DELAY_MS : number > known;
  }
}
