import type { LocalUsers, PresenceRegistryMessage, WorkerTotals } from '../protocol.js';

/** Up to so many members, a room's presence and roster name them. */
export const MAX_NAMED = 100;
/** How long changes are gathered before the other workers are told, in ms. */
const SEND_AFTER_MS = 50;
/** How often a worker says that it is still there, in ms. */
const HEARTBEAT_MS = 2000;
/** How long a worker may be silent before its users count as gone, in ms. */
const MAX_SILENCE_MS = 3 * HEARTBEAT_MS;

export interface PresenceRegistryEvents {
  /** Tells all other workers. What does not arrive is found out by the next heartbeat, and made good. */
  send(message: PresenceRegistryMessage): void;
  /** The users of a room have changed. */
  changed(room: string): void;
  /** A worker has gone. */
  gone(): void;
  /** What this worker counts of itself; the others are told with each heartbeat. */
  totals(): WorkerTotals;
}

interface Node {
  sequence: number;
  lastHeard: number;
  rooms: Map<string, LocalUsers>;
  totals: WorkerTotals;
}

/**
 * Who is in which room, over all workers and machines. Each worker keeps its own users and tells the others what has
 * changed; nobody is asked when somebody joins. A user with several sockets counts once; in rooms where one worker
 * alone has more than {@link MAX_NAMED} users, once per worker.
 */
export class PresenceRegistry {
  /** This worker's users by room, with the number of sockets of each. */
  private readonly local = new Map<string, Map<string, number>>();
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

  /** One more socket of a user is in the room. */
  add(room: string, user: string): void {
    const users = this.local.get(room) ?? new Map<string, number>();
    this.local.set(room, users);
    const sockets = users.get(user) ?? 0;
    users.set(user, sockets + 1);
    if (sockets === 0) this.note(room);
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
    if (users.size === 0) this.local.delete(room);
    this.note(room);
  }

  /** The users of a room: how many, and the names that are known. */
  usersOf(room: string): { members: number; users: Set<string> } {
    const users = new Set<string>();
    let unnamed = 0;
    const count = (part: LocalUsers | undefined) => {
      if (typeof part === 'number') unnamed += part;
      else for (const name of part ?? []) users.add(name);
    };
    count(this.localUsers(room));
    for (const node of this.nodes.values()) count(node.rooms.get(room));
    return { members: users.size + unnamed, users };
  }

  /** All rooms that somebody is in. */
  rooms(): Set<string> {
    const rooms = new Set(this.local.keys());
    for (const node of this.nodes.values()) for (const room of node.rooms.keys()) rooms.add(room);
    return rooms;
  }

  /** How many workers there are, and what they count together; of the others as of their last heartbeat. */
  totals(): WorkerTotals & { workers: number } {
    const sum = { workers: this.nodes.size + 1, ...this.events.totals() };
    for (const { totals } of this.nodes.values()) {
      sum.clients += totals.clients;
      sum.messages += totals.messages;
    }
    return sum;
  }

  /** Takes what another worker tells. */
  receive(message: PresenceRegistryMessage): void {
    if (message.node === this.id) return;
    if (message.type === 'request') {
      if (message.of === undefined || message.of === this.id) this.sendState();
      return;
    }
    if (message.type === 'bye') return this.forget(message.node);
    const node = this.nodes.get(message.node);
    if (node) node.lastHeard = Date.now();
    if (message.type === 'state') return this.replace(message.node, message.sequence, message.rooms);
    const expected = message.type === 'changes' ? message.sequence - 1 : message.sequence;
    if (node?.sequence !== expected) {
      // Something did not arrive, or everything so far.
      return this.events.send({ node: this.id, type: 'request', of: message.node });
    }
    if (message.type === 'heartbeat') node.totals = message.totals;
    if (message.type !== 'changes') return;
    node.sequence = message.sequence;
    for (const [room, users] of Object.entries(message.rooms)) this.set(node, room, users);
  }

  /** Tells the others that this worker's users are gone. */
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
    const rooms: Record<string, LocalUsers> = Object.create(null);
    for (const room of this.changes) rooms[room] = this.localUsers(room);
    this.changes.clear();
    this.sequence++;
    this.events.send({ node: this.id, type: 'changes', sequence: this.sequence, rooms });
  }

  private sendState(): void {
    const rooms: Record<string, LocalUsers> = Object.create(null);
    for (const room of this.local.keys()) rooms[room] = this.localUsers(room);
    this.events.send({ node: this.id, type: 'state', sequence: this.sequence, rooms });
  }

  private localUsers(room: string): LocalUsers {
    const users = this.local.get(room);
    if (!users) return [];
    return users.size > MAX_NAMED ? users.size : [...users.keys()];
  }

  private replace(id: string, sequence: number, rooms: Record<string, LocalUsers>): void {
    const before = this.nodes.get(id);
    const totals = before?.totals ?? { clients: 0, messages: 0 };
    const node: Node = { sequence, lastHeard: Date.now(), rooms: new Map(), totals };
    this.nodes.set(id, node);
    for (const [room, users] of Object.entries(rooms)) this.set(node, room, users);
    for (const room of before?.rooms.keys() ?? []) if (!node.rooms.has(room)) this.events.changed(room);
  }

  private set(node: Node, room: string, users: LocalUsers): void {
    if (Array.isArray(users) && users.length === 0) node.rooms.delete(room);
    else node.rooms.set(room, users);
    this.events.changed(room);
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
