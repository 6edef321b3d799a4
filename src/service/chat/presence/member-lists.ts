import type { PresentUsers } from '../../../features/presence/index.js';

/** Knows the users of each room. */
export interface Roster {
  usersOf(room: string): PresentUsers<string>;
}

/** How many lists are kept. */
const MAX_LISTS = 1000;

/** The users of a room, as a client receives them. */
export interface MemberList {
  readonly members: number;
  /** In alphabetical order. */
  readonly users: string[];
  readonly names?: NamesByUser;
  readonly connections?: Readonly<Record<string, number>>;
}

interface KeptList {
  readonly list: MemberList;
  readonly bytes: number;
}

/** Keeps the sorted list of a room until its users change, so that asking for it again and again is cheap. */
export class MemberLists {
  private readonly lists = new Map<string, KeptList>();

  constructor(private readonly roster: Roster) {}

  of(room: string): MemberList {
    return this.find(room).list;
  }

  /** About how many bytes a reply with the list has. */
  bytesOf(room: string): number {
    return this.find(room).bytes;
  }

  /** The number of users in a room, without the cost of a list. */
  count(room: string): number {
    return (this.lists.get(room)?.list ?? this.roster.usersOf(room)).members;
  }

  /** Call this when the users of a room have changed. */
  forget(room: string): void {
    this.lists.delete(room);
  }

  private find(room: string): KeptList {
    return this.lists.get(room) ?? this.create(room);
  }

  private create(room: string): KeptList {
    const { members, users, sockets } = this.roster.usersOf(room);
    const sorted = [...users.keys()].sort();
    const connections = sockets.size > 0 ? Object.fromEntries(sockets) : undefined;
    const list = { members, users: sorted, names: namesOf(sorted, users), connections };
    const kept = { list, bytes: Buffer.byteLength(JSON.stringify(list)) };
    // Clients may ask for any number of rooms without members.
    if (members === 0) return kept;
    if (this.lists.size >= MAX_LISTS) this.lists.delete(this.lists.keys().next().value!);
    this.lists.set(room, kept);
    return kept;
  }
}

/** Display names as a client receives them, by user. */
export type NamesByUser = Readonly<Record<string, string>>;

/** The display names of some users; undefined if none of them has one. Earlier sources take precedence. */
export function namesOf(
  users: Iterable<string>,
  ...sources: (ReadonlyMap<string, string | undefined> | undefined)[]
): NamesByUser | undefined {
  const pairs: [string, string][] = [];
  for (const user of users) {
    const displayName = sources.find((source) => source?.has(user))?.get(user);
    if (displayName !== undefined) pairs.push([user, displayName]);
  }
  return pairs.length > 0 ? Object.fromEntries(pairs) : undefined;
}
