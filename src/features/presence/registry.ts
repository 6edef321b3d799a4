import { MalformedMessage } from '../../base/errors.js';
import type { OpenService, ServiceChannel } from '../../io/rooms/services.js';

/** Up to this number of members, presence names the users of a room. */
export const MAX_NAMED = 100;
/** How long changes are gathered before they are sent to the other workers, in ms. */
const SEND_AFTER_MS = 50;

interface Node {
  readonly rooms: Map<string, LocalUsers>;
  readonly names: DisplayNames;
}

/**
 * Knows the users of each room on all workers and machines. Each worker keeps its own users and sends changes to the
 * others, so a join asks no other worker. A user with several sockets counts once. In a room where one worker alone has
 * more than {@link MAX_NAMED} users, a user counts once per worker.
 */
export class PresenceRegistry {
  /** This worker's users by room, with the number of sockets of each. */
  private readonly local = new Map<string, Map<string, number>>();
  private readonly localNames = new DisplayNames();
  private readonly nodes = new Map<string, Node>();
  private readonly changes = new Set<string>();
  private readonly channel: ServiceChannel;
  private timer: NodeJS.Timeout | undefined;

  /**
   * @param open begins the service that tells the other workers
   * @param onChange called with a room whose users have changed
   */
  constructor(
    open: OpenService,
    private readonly onChange: (room: string) => void,
  ) {
    this.channel = open({
      onMessage: (message, from) => this.receive(checkedMessage(message), from),
      onHere: (worker) => this.local.size > 0 && this.send('state', this.local.keys(), worker),
      onGone: (worker) => this.forget(worker),
    });
  }

  /** A socket of a user has joined the room. */
  add(room: string, user: string, displayName?: string): void {
    const users = this.local.get(room) ?? new Map<string, number>();
    this.local.set(room, users);
    const sockets = users.get(user) ?? 0;
    users.set(user, sockets + 1);
    const isRenamed = this.localNames.set(room, user, displayName);
    if (sockets === 0 || isRenamed) this.note(room);
  }

  /** A user in the room has another display name than before. */
  rename(room: string, user: string, displayName: string | undefined): void {
    if (this.local.get(room)?.has(user) && this.localNames.set(room, user, displayName)) this.note(room);
  }

  /** One socket of a user has left the room. */
  remove(room: string, user: string): void {
    const users = this.local.get(room);
    const sockets = users?.get(user);
    if (!users || !sockets) return;
    if (sockets > 1) {
      users.set(user, sockets - 1);
      return;
    }
    users.delete(user);
    this.localNames.set(room, user, undefined);
    if (users.size === 0) this.local.delete(room);
    this.note(room);
  }

  /** The users of a room: their number, the known ones, and the display names of those that have one. */
  usersOf(room: string): { members: number; users: Set<string>; names?: ReadonlyMap<string, string> } {
    const users = new Set<string>();
    const names = new Map<string, string>();
    let unnamed = 0;
    const count = (part: LocalUsers | undefined) => {
      if (typeof part === 'number') unnamed += part;
      else for (const name of part ?? []) users.add(name);
    };
    const name = (part: ReadonlyMap<string, string> | undefined) => {
      for (const [user, displayName] of part ?? []) names.set(user, displayName);
    };
    count(this.localUsers(room));
    for (const node of this.nodes.values()) {
      count(node.rooms.get(room));
      name(node.names.of(room));
    }
    name(this.localNames.of(room));
    return { members: users.size + unnamed, users, names: names.size > 0 ? names : undefined };
  }

  /** All rooms with at least one user. */
  rooms(): Set<string> {
    const rooms = new Set(this.local.keys());
    for (const node of this.nodes.values()) for (const room of node.rooms.keys()) rooms.add(room);
    return rooms;
  }

  close(): void {
    clearTimeout(this.timer);
    this.local.clear();
    this.send('state', []);
    this.channel.close();
  }

  private receive(message: PresenceMessage, from: string): void {
    const before = this.nodes.get(from);
    const node = (message.type === 'changes' && before) || { rooms: new Map(), names: new DisplayNames() };
    this.nodes.set(from, node);
    for (const [room, users] of Object.entries(message.rooms)) {
      if (Array.isArray(users) && users.length === 0) node.rooms.delete(room);
      else node.rooms.set(room, users);
      node.names.replace(room, message.names?.[room]);
      this.onChange(room);
    }
    for (const room of before?.rooms.keys() ?? []) if (!node.rooms.has(room)) this.onChange(room);
  }

  private note(room: string): void {
    this.changes.add(room);
    this.onChange(room);
    this.timer ??= setTimeout(() => this.sendChanges(), SEND_AFTER_MS);
  }

  private sendChanges(): void {
    this.timer = undefined;
    this.send('changes', this.changes);
    this.changes.clear();
  }

  private send(type: PresenceMessage['type'], rooms: Iterable<string>, to?: string): void {
    this.channel.send({ type, ...this.usersIn(rooms) } satisfies PresenceMessage, to);
  }

  private usersIn(selected: Iterable<string>): UsersInRooms {
    const rooms: Record<string, LocalUsers> = Object.create(null);
    let names: Record<string, NamePairs> | undefined;
    for (const room of selected) {
      const users = this.localUsers(room);
      rooms[room] = users;
      const displayNames = typeof users === 'number' ? undefined : this.localNames.of(room);
      if (!displayNames) continue;
      names ??= Object.create(null) as Record<string, NamePairs>;
      names[room] = [...displayNames];
    }
    return names ? { rooms, names } : { rooms };
  }

  private localUsers(room: string): LocalUsers {
    const users = this.local.get(room);
    if (!users) return [];
    return users.size > MAX_NAMED ? users.size : [...users.keys()];
  }

  private forget(worker: string): void {
    const node = this.nodes.get(worker);
    this.nodes.delete(worker);
    for (const room of node?.rooms.keys() ?? []) this.onChange(room);
  }
}

/** A worker's users in a room: their names, or only their number if there are too many. */
export type LocalUsers = string[] | number;

/** A worker's users in some rooms. */
export interface UsersInRooms {
  rooms: Record<string, LocalUsers>;
  /** Display names, by room, of the users that `rooms` lists. Workers of earlier versions neither send nor read them. */
  names?: Record<string, NamePairs>;
}

/** What workers tell each other: rooms whose users have changed, or, to a worker that asks, all of them. */
export type PresenceMessage = { readonly type: 'changes' | 'state' } & UsersInRooms;

/**
 * What another worker has sent. Unknown fields pass: a newer version may send them during an upgrade.
 * @throws MalformedMessage
 */
export function checkedMessage(value: unknown): PresenceMessage {
  const { type, rooms } = (value ?? {}) as Partial<PresenceMessage>;
  if (type !== 'changes' && type !== 'state') throw new MalformedMessage('a message of presence has no known type');
  if (typeof rooms !== 'object' || rooms === null || !Object.values(rooms).every(areUsers)) {
    throw new MalformedMessage('a message of presence has invalid rooms');
  }
  return value as PresenceMessage;
}

function areUsers(users: unknown): users is LocalUsers {
  return Number.isInteger(users) || (Array.isArray(users) && users.every((user) => typeof user === 'string'));
}

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
