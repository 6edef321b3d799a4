import type { OpenService, ServiceChannel } from '../../io/rooms/index.js';
import { DisplayNames, type NamePairs } from './display-names.js';
import { checkedMessage, type LocalUsers, type PresenceMessage, type UsersInRooms } from './messages.js';

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
