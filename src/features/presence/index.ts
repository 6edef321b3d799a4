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
import { departing } from '../recovery/moves.js';
import { PresenceRegistry } from './registry.js';

export { MAX_NAMED } from './registry.js';

/** Clients may choose names. A longer one of a user is shortened, and a room with a longer one is left out. */
const MAX_NAME_CHARACTERS = 256;

/** How long the user of a client that goes on on another worker still counts here, in ms. */
const MOVING_MS = 1000;

/** The event between workers. */
const EVENT = 'gjallar:presence';

/** The users of a room on all workers and machines. */
export interface PresentUsers {
  /** The number of users. A user with several sockets counts once. */
  members: number;
  /** The names of the users. In a room where one worker alone has more than {@link MAX_NAMED} users, some are missing. */
  users: Set<string>;
  /** The display names of those users that have one; undefined if none has. */
  names?: ReadonlyMap<string, string> | undefined;
}

export interface PresenceOptions {
  /** Which rooms have users. The members of others cost nothing. @default all */
  isRoom?: (room: string) => boolean;
}

/** A user as a socket is tracked. */
interface Tracked {
  readonly user: string;
  displayName: string | undefined;
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
export function createPresence(of: AnyServer | AnyNamespace, options?: PresenceOptions): Presence {
  return new Presence(of, options);
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
  private readonly isRoom: (room: string) => boolean;
  private readonly tracked = new Map<string, Tracked>();
  private readonly onJoin = (room: unknown, id: string) => this.each(room, id, (...what) => this.registry.add(...what));
  private readonly onLeave = (room: unknown, id: string) => {
    this.each(room, id, (name, user) => {
      // Nobody is to hear that a user whose client goes on on another worker has left and come again.
      if (departing.has(id)) setTimeout(() => this.registry.remove(name, user), MOVING_MS).unref();
      else this.registry.remove(name, user);
    });
  };
  /** One function for all sockets, which is called with the socket as `this`. */
  private readonly onDisconnect: (this: AnySocket) => void;

  /** Use {@link createPresence}. */
  constructor(of: AnyServer | AnyNamespace, { isRoom = () => true }: PresenceOptions = {}) {
    super();
    this.isRoom = isRoom;
    const { tracked } = this;
    this.onDisconnect = function onDisconnect() {
      tracked.delete(this.id);
    };
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
   * @param displayName the name to show, which need not be unique. Of several for a user, the newest of each worker counts.
   */
  track(socket: AnySocket, user: string, displayName?: string): void {
    if (this.tracked.has(socket.id)) throw new TypeError('This socket is tracked already. Call track() once for each.');
    this.tracked.set(socket.id, { user: shortened(nameOf(user)), displayName });
    for (const room of socket.rooms) this.onJoin(room, socket.id);
    // The socket has left all rooms by then.
    socket.on('disconnect', this.onDisconnect);
  }

  /** Gives the user of a tracked socket another display name, or none, in the rooms of the socket and those that it joins. */
  rename(socket: AnySocket, displayName: string | undefined): void {
    const tracked = this.tracked.get(socket.id);
    if (!tracked) return;
    tracked.displayName = displayName;
    for (const room of socket.rooms) this.each(room, socket.id, (...what) => this.registry.rename(...what));
  }

  /** Counts a user who is in a room without a socket, such as one on a plain WebSocket, until as many calls of `remove()`. */
  add(room: string, user: string, displayName?: string): void {
    this.registry.add(nameOf(room), shortened(nameOf(user)), displayName);
  }

  /** The user that `add()` has counted has left the room. */
  remove(room: string, user: string): void {
    this.registry.remove(nameOf(room), shortened(nameOf(user)));
  }

  /** The users of a room. */
  usersOf(room: string): PresentUsers {
    return this.registry.usersOf(nameOf(room));
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

  private each(room: unknown, id: string, change: (room: string, user: string, displayName?: string) => void): void {
    const tracked = this.tracked.get(id);
    // Each socket's own room is not a room of users.
    if (tracked === undefined || room === id) return;
    const name = nameOf(room);
    // Another worker cannot have a room that is an object.
    if (isNamedHere(name) || name.length > MAX_NAME_CHARACTERS || !this.isRoom(name)) return;
    change(name, tracked.user, tracked.displayName);
  }
}

function shortened(name: string): string {
  if (name.length <= MAX_NAME_CHARACTERS) return name;
  const hash = createHash('sha256').update(name).digest('base64url');
  return `${name.slice(0, MAX_NAME_CHARACTERS - hash.length - 1)} ${hash}`.toWellFormed();
}
