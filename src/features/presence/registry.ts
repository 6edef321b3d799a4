import { isDeepStrictEqual } from 'node:util';
import { MalformedMessage } from '../../base/errors.js';
import { nameOf, roomNamed } from '../../base/names.js';
import type { OpenService, ServiceChannel } from '../../io/rooms/services.js';

/** Up to this number of members, presence names the users of a room. */
export const MAX_NAMED = 100;
/** How long changes are gathered before they are sent to the other workers, in ms. */
const SEND_AFTER_MS = 50;

/** A user in a room of a worker. */
interface LocalUser {
  sockets: number;
  data: unknown;
  /** How many of those that have left go on on another worker. */
  moving?: number;
}

/** Users with their data: JSON, or undefined. */
export type UsersWithData = Map<string, unknown>;

/** A user of another worker who has not exactly one socket there. Nearly all have one: their data alone is kept. */
class WithSockets {
  constructor(
    readonly sockets: number,
    readonly data: unknown,
  ) {}
}

/** Another worker's users in a room, their data being that of {@link WithSockets}; or their number if there are too many. */
type OtherUsers = UsersWithData | number;

/** The users of a room. */
export interface RoomUsers {
  /** Their number. */
  members: number;
  /** The known ones with their data. */
  users: UsersWithData;
  /** How many sockets those have that have several. */
  sockets: Map<string, number>;
}

/**
 * Knows the users of each room on all workers and machines. Each worker keeps its own users and sends changes to the
 * others, so a join asks no other worker. A user with several sockets counts once. In a room where one worker alone has
 * more than {@link MAX_NAMED} users, a user counts once per worker.
 */
export class PresenceRegistry {
  private readonly local = new Map<string, Map<string, LocalUser>>();
  private readonly nodes = new Map<string, Map<string, OtherUsers>>();
  /** The users that have changed, by room. */
  private changes = new Map<string, Set<string>>();
  /** Rooms of which the other workers know a number only. */
  private readonly counted = new Set<string>();
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
      onHere: (worker) => this.local.size > 0 && this.sendState(worker),
      onGone: (worker) => this.forget(worker),
    });
  }

  /** A socket of a user has joined the room. */
  add(room: string, user: string, data?: unknown): void {
    const users = this.local.get(room) ?? new Map<string, LocalUser>();
    this.local.set(room, users);
    const known = users.get(user);
    const isSame = known && isDeepStrictEqual(known.data, data);
    users.set(user, { ...known, sockets: (known?.sockets ?? 0) + 1, data });
    if (!isSame || this.isTold(room)) this.note(room, user);
  }

  /** A user in the room has other data than before. */
  update(room: string, user: string, data: unknown): void {
    const known = this.local.get(room)?.get(user);
    if (!known || isDeepStrictEqual(known.data, data)) return;
    known.data = data;
    this.note(room, user);
  }

  /** One socket of a user has left the room. */
  remove(room: string, user: string): void {
    const known = this.local.get(room)?.get(user);
    if (!known) return;
    known.sockets--;
    this.left(room, user);
  }

  /** The same for one that goes on on another worker. Nobody is to hear meanwhile that the user has left, or has one more. */
  move(room: string, user: string, withinMs: number): void {
    const known = this.local.get(room)?.get(user);
    if (!known) return;
    known.moving = (known.moving ?? 0) + 1;
    this.remove(room, user);
    const end = () => {
      const present = this.local.get(room)?.get(user);
      if (!present?.moving) return;
      present.moving--;
      this.left(room, user);
    };
    setTimeout(end, withinMs).unref();
  }

  /** The users of a room. */
  usersOf(room: string): RoomUsers {
    const users: UsersWithData = new Map();
    const sockets = new Map<string, number>();
    let unnamed = 0;
    const put = (user: string, data: unknown, count: number) => {
      sockets.set(user, count + (sockets.get(user) ?? 0));
      users.set(user, data);
    };
    for (const rooms of this.nodes.values()) {
      const others = rooms.get(room);
      if (typeof others === 'number') unnamed += others;
      else
        for (const [user, known] of others ?? [])
          if (known instanceof WithSockets) put(user, known.data, known.sockets);
          else put(user, known, 1);
    }
    const local = this.local.get(room);
    if (local && local.size > MAX_NAMED) unnamed += local.size;
    else for (const [user, known] of local ?? []) put(user, known.data, known.sockets);
    for (const [user, count] of sockets) if (count < 2) sockets.delete(user);
    return { members: users.size + unnamed, users, sockets };
  }

  /** Whether this worker has users in a room. */
  hasLocal(room: string): boolean {
    return this.local.has(room);
  }

  /** All rooms with at least one user. */
  rooms(): Set<string> {
    const all = new Set(this.local.keys());
    for (const rooms of this.nodes.values()) for (const room of rooms.keys()) all.add(room);
    return all;
  }

  close(): void {
    clearTimeout(this.timer);
    this.local.clear();
    this.sendState();
    this.channel.close();
  }

  private receive({ type, rooms }: PresenceMessage, from: string): void {
    const before = this.nodes.get(from);
    const node = (type === 'changes' && before) || new Map<string, OtherUsers>();
    this.nodes.set(from, node);
    for (const [room, users, gone] of rooms) {
      if (typeof users === 'number') node.set(room, users);
      else {
        const known = node.get(room);
        const named: UsersWithData = gone && known instanceof Map ? known : new Map();
        for (const [user, sockets, data] of users)
          named.set(textNamed(user), sockets === 1 ? data : new WithSockets(sockets, data));
        for (const user of gone ?? []) named.delete(textNamed(user));
        if (named.size > 0) node.set(room, named);
        else node.delete(room);
      }
      this.onChange(room);
    }
    for (const room of before?.keys() ?? []) if (!node.has(room)) this.onChange(room);
  }

  private left(room: string, user: string): void {
    const users = this.local.get(room)!;
    const { sockets, moving = 0 } = users.get(user)!;
    if (sockets + moving > 0) {
      if (this.isTold(room)) this.note(room, user);
      return;
    }
    users.delete(user);
    if (users.size === 0) this.local.delete(room);
    this.note(room, user);
  }

  /** Whether the users of this worker in a room are told, and not their number alone. */
  private isTold(room: string): boolean {
    return this.local.get(room)!.size <= MAX_NAMED;
  }

  private note(room: string, user: string): void {
    this.changes.set(room, (this.changes.get(room) ?? new Set()).add(user));
    this.onChange(room);
    this.timer ??= setTimeout(() => this.sendChanges(), SEND_AFTER_MS);
  }

  private sendChanges(): void {
    this.timer = undefined;
    const { changes } = this;
    this.changes = new Map();
    this.send(
      'changes',
      [...changes].map(([room, users]) => this.changesIn(room, users)),
    );
  }

  private sendState(to?: string): void {
    this.send(
      'state',
      [...this.local.keys()].map((room) => this.allIn(room)),
      to,
    );
  }

  private send(type: PresenceMessage['type'], rooms: readonly ToldRoom[], to?: string): void {
    this.channel.send({ type, rooms } satisfies PresenceMessage, to);
  }

  private changesIn(room: string, changed: ReadonlySet<string>): ToldRoom {
    const users = this.local.get(room);
    if (this.counted.has(room) || (users && users.size > MAX_NAMED)) return this.allIn(room);
    const present: UserEntry[] = [];
    const gone: string[] = [];
    for (const user of changed) {
      const known = users?.get(user);
      if (known) present.push(entryOf(user, known));
      else gone.push(nameOf(user));
    }
    return [room, present, gone];
  }

  private allIn(room: string): ToldRoom {
    const users = this.local.get(room) ?? new Map<string, LocalUser>();
    if (users.size > MAX_NAMED) {
      this.counted.add(room);
      return [room, users.size];
    }
    this.counted.delete(room);
    return [room, [...users].map(([user, known]) => entryOf(user, known))];
  }

  private forget(worker: string): void {
    const node = this.nodes.get(worker);
    this.nodes.delete(worker);
    for (const room of node?.keys() ?? []) this.onChange(room);
  }
}

type UserEntry = readonly [user: string, sockets: number, data?: unknown];

/** The names of users are those of rooms: what workers tell each other may not have half a surrogate pair. */
const textNamed = (name: string): string => roomNamed(name) as string;

function entryOf(user: string, { sockets, data }: LocalUser): UserEntry {
  const name = nameOf(user);
  return data === undefined ? [name, sockets] : [name, sockets, data];
}

/**
 * A room, and the worker's users in it, or their number. With those that are `gone`, these are changes: others stay. They are no
 * object with a field for each name, since a room or a user may be named `constructor` or `__proto__`.
 */
type ToldRoom = readonly [room: string, users: readonly UserEntry[] | number, gone?: readonly string[]];

/** What workers tell each other: what has changed, or, to a worker that asks, everything. */
export interface PresenceMessage {
  readonly type: 'changes' | 'state';
  readonly rooms: readonly ToldRoom[];
}

/** What another worker has sent. @throws MalformedMessage */
function checkedMessage(value: unknown): PresenceMessage {
  const { type, rooms } = (value ?? {}) as Partial<PresenceMessage>;
  if (type !== 'changes' && type !== 'state') throw new MalformedMessage('a message of presence has no known type');
  if (!isListOf(rooms, areUsers)) throw new MalformedMessage('a message of presence has invalid rooms');
  return value as PresenceMessage;
}

function areUsers(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const [room, users, gone] = value as unknown[];
  if (typeof room !== 'string') return false;
  return Number.isInteger(users) || (isListOf(users, isUserEntry) && (gone === undefined || isListOf(gone, isText)));
}

const isListOf = (value: unknown, fits: (each: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(fits);
const isText = (value: unknown): boolean => typeof value === 'string';
const isUserEntry = (value: unknown): boolean => Array.isArray(value) && isText(value[0]) && Number.isInteger(value[1]);
