/** Display names of users, as workers send them to each other: pairs, because a user may be named `__proto__`. */
export type NamePairs = (readonly [user: string, displayName: string])[];

/** Display names as a client receives them, by user. */
export type NamesByUser = Readonly<Record<string, string>>;

/** The display names of the users in each room; most users have none. */
export class DisplayNames {
  private readonly rooms = new Map<string, Map<string, string>>();

  of(room: string): ReadonlyMap<string, string> | undefined {
    return this.rooms.get(room);
  }

  /** Returns whether this changes the user's display name. */
  set(room: string, user: string, displayName: string | undefined): boolean {
    const names = this.rooms.get(room);
    if (names?.get(user) === displayName) return false;
    if (displayName === undefined) {
      names!.delete(user);
      if (names!.size === 0) this.rooms.delete(room);
    } else if (names) names.set(user, displayName);
    else this.rooms.set(room, new Map([[user, displayName]]));
    return true;
  }

  /** Replaces all display names in a room. */
  replace(room: string, names: NamePairs | undefined): void {
    if (names && names.length > 0) this.rooms.set(room, new Map(names));
    else this.rooms.delete(room);
  }
}

/** The display names of some users; undefined if none of them has one. Earlier sources take precedence. */
export function namesOf(
  users: Iterable<string>,
  ...sources: (ReadonlyMap<string, string> | undefined)[]
): NamesByUser | undefined {
  if (!sources.some((source) => source)) return undefined;
  const pairs: [string, string][] = [];
  for (const user of users) {
    const displayName = sources.find((source) => source?.has(user))?.get(user);
    if (displayName !== undefined) pairs.push([user, displayName]);
  }
  return pairs.length > 0 ? Object.fromEntries(pairs) : undefined;
}
