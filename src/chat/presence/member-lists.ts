import { type NamesByUser, namesOf } from '../../presence/display-names.js';
import type { PresenceRegistry } from '../../presence/registry.js';

/** How many lists are kept. */
const MAX_LISTS = 1000;

/** The users of a room, as a client receives them. */
export interface MemberList {
  readonly members: number;
  /** In alphabetical order. */
  readonly users: string[];
  readonly names?: NamesByUser;
}

/** Keeps the sorted list of a room until its users change, so that asking for it again and again is cheap. */
export class MemberLists {
  private readonly lists = new Map<string, MemberList>();

  constructor(private readonly registry: Pick<PresenceRegistry, 'usersOf'>) {}

  of(room: string): MemberList {
    return this.lists.get(room) ?? this.create(room);
  }

  /** The number of users in a room, without the cost of a list. */
  count(room: string): number {
    return (this.lists.get(room) ?? this.registry.usersOf(room)).members;
  }

  /** Call this when the users of a room have changed. */
  forget(room: string): void {
    this.lists.delete(room);
  }

  private create(room: string): MemberList {
    const { members, users, names } = this.registry.usersOf(room);
    const sorted = [...users].sort();
    const list = { members, users: sorted, names: namesOf(sorted, names) };
    // Clients may ask for any number of rooms without members.
    if (members === 0) return list;
    if (this.lists.size >= MAX_LISTS) this.lists.delete(this.lists.keys().next().value!);
    this.lists.set(room, list);
    return list;
  }
}
