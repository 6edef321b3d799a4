import type { RoomKey } from '../backplanes/frames/interest/rooms.js';

/** Somebody who has members of rooms. */
export interface RoomOwner {
  readonly id: string;
  /** The rooms; undefined while they are not known. */
  rooms: Set<RoomKey> | undefined;
}

/** Knows the owners of each room, and which rooms any of them has. */
export class RoomIndex<Owner extends RoomOwner> {
  /** The rooms that any of them has. */
  readonly union = new Set<RoomKey>();
  private readonly owners = new Map<RoomKey, Owner[]>();

  /** @returns the rooms that none of them had before */
  add(owner: Owner, keys: Iterable<RoomKey>): RoomKey[] {
    const { owners, union } = this;
    const added: RoomKey[] = [];
    const rooms = owner.rooms ?? new Set<RoomKey>();
    owner.rooms = rooms;
    for (const key of keys) {
      if (rooms.has(key)) continue;
      rooms.add(key);
      const others = owners.get(key);
      if (others) others.push(owner);
      else {
        owners.set(key, [owner]);
        union.add(key);
        added.push(key);
      }
    }
    return added;
  }

  /** @returns the rooms that none of them has any more */
  remove(owner: Owner, keys: Iterable<RoomKey>): RoomKey[] {
    const { owners, union } = this;
    const removed: RoomKey[] = [];
    for (const key of keys) {
      if (!owner.rooms?.has(key)) continue;
      owner.rooms.delete(key);
      const left = owners.get(key)!.filter((other) => other !== owner);
      if (left.length > 0) owners.set(key, left);
      else {
        owners.delete(key);
        union.delete(key);
        removed.push(key);
      }
    }
    return removed;
  }

  /** The owner is gone, or its rooms are not known any more. */
  forget(owner: Owner): RoomKey[] {
    const removed = this.remove(owner, [...(owner.rooms ?? [])]);
    owner.rooms = undefined;
    return removed;
  }

  /** Those that have one of the rooms. */
  of(keys: readonly RoomKey[]): readonly Owner[] {
    if (keys.length === 1) return this.owners.get(keys[0]!) ?? NONE;
    const all = new Set<Owner>();
    for (const key of keys) for (const owner of this.owners.get(key) ?? NONE) all.add(owner);
    return [...all];
  }
}

const NONE: readonly never[] = [];
