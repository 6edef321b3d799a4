import { DisplayNames, type NamePairs } from './display-names.js';
import type { LocalUsers, PresenceRegistryMessage, UsersInRooms, WorkerTotals } from './messages.js';

/** Up to this number of members, presence names the users of a room. */
export const MAX_NAMED = 100;
/** How long changes are gathered before they are sent to the other workers, in ms. */
const SEND_AFTER_MS = 50;
/** How often a worker sends a heartbeat, in ms. */
const HEARTBEAT_MS = 2000;
/** How long a worker may be silent before its users count as gone, in ms. */
const MAX_SILENCE_MS = 3 * HEARTBEAT_MS;

export interface PresenceRegistryEvents {
  /** Sends to all other workers. The next heartbeat reveals a lost message, and the state is sent again. */
  send(message: PresenceRegistryMessage): void;
  /** The users of a room have changed. */
  changed(room: string): void;
  /** A worker is gone. */
  gone(): void;
  /** This worker's own counts. Each heartbeat carries them to the others. */
  totals(): WorkerTotals;
}

interface Node {
  sequence: number;
  lastHeard: number;
  rooms: Map<string, LocalUsers>;
  names: DisplayNames;
  totals: WorkerTotals;
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
  private readonly heartbeat: NodeJS.Timeout;
  private sequence = 0;
  private timer: NodeJS.Timeout | undefined;

  /** @param id this worker's name, unique in the cluster and over time */
  constructor(
    private readonly id: string,
    private readonly events: PresenceRegistryEvents,
  ) {
    this.heartbeat = setInterval(() => this.beat(), HEARTBEAT_MS);
    events.send({ node: id, type: 'request' });
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

  /** The number of workers, and the sums of their counts. The counts of other workers are from their last heartbeat. */
  totals(): WorkerTotals & { workers: number } {
    const sum = { workers: this.nodes.size + 1, ...this.events.totals() };
    for (const { totals } of this.nodes.values()) {
      sum.clients += totals.clients;
      sum.messages += totals.messages;
    }
    return sum;
  }

  /** Handles a message of another worker. */
  receive(message: PresenceRegistryMessage): void {
    if (message.node === this.id) return;
    if (message.type === 'request') {
      if (message.of === undefined || message.of === this.id) this.sendState();
      return;
    }
    if (message.type === 'bye') return this.forget(message.node);
    const node = this.nodes.get(message.node);
    if (node) node.lastHeard = Date.now();
    if (message.type === 'state') return this.replace(message.node, message);
    const expected = message.type === 'changes' ? message.sequence - 1 : message.sequence;
    if (node?.sequence !== expected) {
      // A message was lost, or this is the first one.
      return this.events.send({ node: this.id, type: 'request', of: message.node });
    }
    if (message.type === 'heartbeat') node.totals = message.totals;
    if (message.type !== 'changes') return;
    node.sequence = message.sequence;
    this.setAll(node, message);
  }

  /** Tells the other workers that this worker's users are gone. */
  close(): void {
    clearInterval(this.heartbeat);
    clearTimeout(this.timer);
    this.events.send({ node: this.id, type: 'bye' });
  }

  private note(room: string): void {
    this.changes.add(room);
    this.events.changed(room);
    this.timer ??= setTimeout(() => this.sendChanges(), SEND_AFTER_MS);
  }

  private sendChanges(): void {
    this.timer = undefined;
    const users = this.usersIn(this.changes);
    this.changes.clear();
    this.sequence++;
    this.events.send({ node: this.id, type: 'changes', sequence: this.sequence, ...users });
  }

  private sendState(): void {
    this.events.send({ node: this.id, type: 'state', sequence: this.sequence, ...this.usersIn(this.local.keys()) });
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

  private replace(id: string, { sequence, ...users }: UsersInRooms & { sequence: number }): void {
    const before = this.nodes.get(id);
    const totals = before?.totals ?? { clients: 0, messages: 0 };
    const node: Node = { sequence, lastHeard: Date.now(), rooms: new Map(), names: new DisplayNames(), totals };
    this.nodes.set(id, node);
    this.setAll(node, users);
    for (const room of before?.rooms.keys() ?? []) if (!node.rooms.has(room)) this.events.changed(room);
  }

  private setAll(node: Node, { rooms, names }: UsersInRooms): void {
    for (const [room, users] of Object.entries(rooms)) {
      if (Array.isArray(users) && users.length === 0) node.rooms.delete(room);
      else node.rooms.set(room, users);
      node.names.replace(room, names?.[room]);
      this.events.changed(room);
    }
  }

  private forget(id: string): void {
    const node = this.nodes.get(id);
    if (!this.nodes.delete(id)) return;
    this.events.gone();
    for (const room of node?.rooms.keys() ?? []) this.events.changed(room);
  }

  private beat(): void {
    this.events.send({ node: this.id, type: 'heartbeat', sequence: this.sequence, totals: this.events.totals() });
    const now = Date.now();
    for (const [id, node] of this.nodes) if (now - node.lastHeard > MAX_SILENCE_MS) this.forget(id);
  }
}
