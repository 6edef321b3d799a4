/**
 * The users in the rooms of a namespace, over all workers and machines.
 *
 * It promises: a worker answers from its own memory. A change reaches the others within 50 ms, and the users of a worker that
 * dies disappear.
 *
 * registry.ts has the messages between workers, and the sum of what they say.
 */
import { createHash } from 'node:crypto';
import { Listeners } from '../../base/listeners.js';
import { isNamedHere, nameOf, roomsNamed } from '../../base/names.js';
import { type AnyNamespace, type AnyServer, type AnySocket, namespaceOf } from '../../io/any.js';
import { serviceOf } from '../../io/rooms/index.js';
import { PresenceRegistry } from './registry.js';

export { MAX_NAMED } from './registry.js';

/** Clients may choose names. A longer one of a user is shortened, and a room with a longer one is left out. */
const MAX_NAME_CHARACTERS = 256;

/** The event between workers. */
const EVENT = 'gjallar:presence';

/** The users of a room on all workers and machines. */
export interface PresentUsers {
  /** The number of users. A user with several sockets counts once. */
  members: number;
  /** The names of the users. In a room where one worker alone has more than {@link MAX_NAMED} users, some are missing. */
  users: Set<string>;
}

/** The events of {@link Presence}. */
export interface PresenceEvents {
  /** The users of a room have changed. */
  change: [room: string];
  /** Another worker sent something that is no presence message, and that was dropped. */
  malformed: [reason: string];
}

/**
 * Makes known which users are in the rooms of a namespace. Call it on every worker.
 * @param of the server, whose namespace `/` it watches, or another namespace; its adapter must span the workers
 */
export function createPresence(of: AnyServer | AnyNamespace): Presence {
  return new Presence(of);
}

/**
 * Knows which users are in the rooms of a namespace, on all workers and machines. Workers send changes to each other every
 * 50 ms. The users of a worker that dies are gone at once. With an adapter that does not tell of other servers, such as that of
 * `BUS=redis`, they are gone after 8 s at most.
 *
 * ```
 * const presence = createPresence(io);
 * io.on('connection', (socket) => presence.track(socket, socket.data.user));
 * presence.on('change', (room) => io.local.to(room).emit('users', [...presence.usersOf(room).users]));
 * ```
 */
export class Presence extends Listeners<PresenceEvents> {
  private readonly nsp: AnyNamespace;
  private readonly registry: PresenceRegistry;
  private readonly users = new Map<string, string>();
  private readonly onJoin = (room: unknown, id: string) => this.each(room, id, (...what) => this.registry.add(...what));
  private readonly onLeave = (room: unknown, id: string) =>
    this.each(room, id, (...what) => this.registry.remove(...what));

  /** Use {@link createPresence}. */
  constructor(of: AnyServer | AnyNamespace) {
    super();
    const nsp = namespaceOf(of);
    this.nsp = nsp;
    const open = serviceOf(nsp, EVENT, (reason) => this.tell('malformed', reason));
    this.registry = new PresenceRegistry(open, (name) => {
      for (const room of roomsNamed([name])) this.tell('change', room as string);
    });
    nsp.adapter.on('join-room', this.onJoin);
    nsp.adapter.on('leave-room', this.onLeave);
  }

  /**
   * Counts a socket as the user's in all rooms that it is in or joins, until it leaves them or disconnects. Rooms whose names have
   * more than 256 characters are left out.
   * @param user the identity of the user, which several sockets may share. Of more than 256 characters, it is shortened: a hash
   *   stands for the rest.
   */
  track(socket: AnySocket, user: string): void {
    if (this.users.has(socket.id)) throw new TypeError('This socket is tracked already. Call track() once for each.');
    this.users.set(socket.id, shortened(nameOf(user)));
    for (const room of socket.rooms) this.onJoin(room, socket.id);
    // The socket has left all rooms by then.
    socket.once('disconnect', () => this.users.delete(socket.id));
  }

  /** The users of a room. */
  usersOf(room: string): PresentUsers {
    const { members, users } = this.registry.usersOf(nameOf(room));
    return { members, users };
  }

  /** The rooms with at least one user. */
  rooms(): Set<string> {
    return new Set(roomsNamed([...this.registry.rooms()]) as string[]);
  }

  /** Tells the other workers that this worker's users are gone. Call it before the server closes. */
  close(): void {
    this.nsp.adapter.off('join-room', this.onJoin);
    this.nsp.adapter.off('leave-room', this.onLeave);
    this.registry.close();
  }

  private each(room: unknown, id: string, change: (room: string, user: string) => void): void {
    const user = this.users.get(id);
    // Each socket's own room is not a room of users.
    if (user === undefined || room === id) return;
    const name = nameOf(room);
    // Another worker cannot have a room that is an object.
    if (!isNamedHere(name) && name.length <= MAX_NAME_CHARACTERS) change(name, user);
  }
}

function shortened(name: string): string {
  if (name.length <= MAX_NAME_CHARACTERS) return name;
  const hash = createHash('sha256').update(name).digest('base64url');
  return `${name.slice(0, MAX_NAME_CHARACTERS - hash.length - 1)} ${hash}`.toWellFormed();
}
