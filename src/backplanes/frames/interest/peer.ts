import type { Route } from '../links.js';
import type { RoomKey } from './room-key.js';
import { RoomSet } from './rooms.js';

/** Another worker, and what this one knows of its rooms. */
export class Peer {
  /** The rooms that it has announced; undefined while they are not known. */
  private rooms: RoomSet | undefined;
  /** Rooms that it may have, until it has answered the ping with this number. */
  private readonly expected = new Map<RoomKey, number>();

  constructor(
    readonly id: string,
    readonly route: Route,
    /** Whether it is on another machine. */
    readonly isElsewhere = false,
  ) {}

  /** Whether it may have members of one of the rooms. */
  wants(keys: readonly RoomKey[]): boolean {
    const { rooms, expected } = this;
    if (!rooms) return true;
    for (const key of keys) if (rooms.has(key) || (expected.size > 0 && expected.has(key))) return true;
    return false;
  }

  /** The rooms by which a message may be routed behind it; undefined if all there must get it. */
  routable(keys: readonly RoomKey[]): readonly RoomKey[] | undefined {
    const { rooms, expected } = this;
    return rooms && (expected.size === 0 || !keys.some((key) => expected.has(key))) ? keys : undefined;
  }

  /** Whether it has announced members of a room. */
  has(key: RoomKey): boolean {
    return this.rooms?.has(key) ?? false;
  }

  add(keys: readonly RoomKey[]): void {
    for (const key of keys) this.rooms?.add(key);
  }

  delete(keys: readonly RoomKey[]): void {
    for (const key of keys) this.rooms?.delete(key);
  }

  replace(keys: readonly RoomKey[]): void {
    this.rooms = new RoomSet();
    this.add(keys);
  }

  /** From now on, it counts as having members of every room. */
  forget(): void {
    this.rooms = undefined;
  }

  /** Compares its rooms with the checksum that it has sent. If they differ, they are forgotten. */
  matches(count: number, sum: number): boolean {
    const known = this.rooms?.checksum;
    if (known?.count === count && known?.sum === sum) return true;
    this.forget();
    return false;
  }

  /** It may have members of these rooms once it has handled what was sent to it, up to the ping. */
  expect(keys: readonly RoomKey[], ping: number): void {
    for (const key of keys) this.expected.set(key, ping);
  }

  answered(ping: number): void {
    for (const [key, number] of this.expected) if (number <= ping) this.expected.delete(key);
  }
}
