/**
 * The users in the rooms of a namespace, over all workers and machines.
 *
 * It promises: a worker answers from its own memory. A change reaches the others within 50 ms, and the users of a worker that
 * dies disappear.
 *
 * registry.ts has the messages between workers, and the sum of what they say.
 */
import { GjallarError } from '../../base/errors.js';
import { Listeners } from '../../base/listeners.js';
import { isNamedHere, nameOf, roomNamed, roomsNamed } from '../../base/names.js';
import { callback, flag, integer, type Row, row, settingsOf } from '../../base/options.js';
import { Engine } from '../../engine/engine.js';
import { type AnyNamespace, type AnyServer, type AnySocket, namespaceOf } from '../../io/any.js';
import { membersOf, serviceOf } from '../../io/rooms/index.js';
import { privateParts } from '../../io/socket-io-server.private.js';
import { departing } from '../recovery/moves.js';
import { PresenceMembers } from './members.js';
import { PresenceRegistry } from './registry.js';
import { type PresenceUpdate, PresenceUpdates } from './updates.js';

export { MAX_NAMED } from './registry.js';
export type { PresenceUpdate } from './updates.js';

/** Clients may choose names. A longer one of a user is rejected, and a room with a longer one is left out. */
const MAX_NAME_CHARACTERS = 256;

/** How long the user of a client that goes on on another worker still counts here, in ms. */
const MOVING_MS = 1000;

/** The event between workers. */
const EVENT = 'gjallar:presence';

/** The users of a room on all workers and machines. */
export interface PresentUsers<Data = unknown> {
  /** The number of users. A user with several sockets counts once. */
  members: number;
  /** The users with their data. In a room where one worker alone has more than {@link MAX_NAMED} users, some are missing. */
  users: ReadonlyMap<string, Data | undefined>;
  /** How many sockets those have that have several. Where users choose their names, these may be different people. */
  sockets: ReadonlyMap<string, number>;
}

export interface PresenceOptions {
  /** Which rooms have users. The members of others cost nothing. @default all */
  isRoom?: (room: string) => boolean;
  /**
   * Whether the clients in a room are told of its users, as `PresenceMap` of `gjallar/client` reads it.
   * @default only the application tells them
   */
  tellsMembers?: boolean;
  /** How many bytes the data of a user may have as JSON, from 0 to 100,000. @default 1,000 */
  maxDataBytes?: number;
}

/** What {@link PresenceOptions} accept. */
const presenceOptions = {
  isRoom: row(callback<NonNullable<PresenceOptions['isRoom']>>(), () => true),
  tellsMembers: row(flag, false),
  maxDataBytes: row(integer(0, 100_000, 'bytes'), 1000),
} satisfies { readonly [K in keyof PresenceOptions]-?: Row };

/** A user as a socket is tracked. */
interface Tracked {
  readonly user: string;
  data: unknown;
}

/** The events of {@link Presence}. */
export interface PresenceEvents<Data = unknown> {
  /** The users of a room, their data or numbers of sockets have changed: `usersOf()` has others. */
  change: [room: string];
  /**
   * A user is in a room, on any worker, who was not. It comes within 300 ms. A worker that starts is told of all users that are there.
   * Neither this nor `leave` is emitted while a room has more than {@link MAX_NAMED} users.
   */
  join: [room: string, user: string, data: Data | undefined];
  /** A user has not been in a room for a second. One who is back earlier has neither left nor joined. */
  leave: [room: string, user: string, data: Data | undefined];
  /** All changes of a room at once, at most four times a second, on workers that have members of it. */
  update: [update: PresenceUpdate<Data>];
  /** Another worker sent something that is no presence message, and that was dropped. */
  malformed: [reason: string];
}

/**
 * Makes known which users are in the rooms of a namespace. Call it on every worker.
 * @param of the server, whose namespace `/` it watches, or another namespace; its adapter must span the workers
 */
export function createPresence<Data = unknown>(
  of: AnyServer | AnyNamespace,
  options?: PresenceOptions,
): Presence<Data> {
  return new Presence(of, options);
}

/**
 * Knows which users are in the rooms of a namespace, on all workers and machines. Workers send changes to each other every
 * 50 ms. The users of a worker that dies are gone at once. With an adapter that does not tell of other servers, such as that of
 * `BUS=redis`, they are gone after 8 s at most.
 *
 * ```
 * const presence = createPresence(io);
 * // Also for a socket that was recovered.
 * io.on('connection', (socket) => presence.track(socket, socket.data.user, { status: 'here' }));
 * presence.on('join', (room, user, data) => console.log(`${user} is in ${room}`, data));
 * ```
 */
export class Presence<Data = unknown> extends Listeners<PresenceEvents<Data>> {
  private readonly nsp: AnyNamespace;
  private readonly settings: Required<PresenceOptions>;
  private readonly registry: PresenceRegistry;
  private readonly updates: PresenceUpdates;
  private readonly members: PresenceMembers | undefined;
  private readonly tracked = new Map<string, Tracked>();
  private readonly onJoin = (room: unknown, id: string) =>
    this.each(room, id, (name, { user, data }) => this.enter(name, user, data));
  private readonly onLeave = (room: unknown, id: string) => {
    this.each(room, id, (name, { user }) => {
      if (departing.has(id)) this.registry.move(name, user, MOVING_MS);
      else this.registry.remove(name, user);
    });
  };
  /** One function for all sockets, which is called with the socket as `this`. */
  private readonly onDisconnect: (this: AnySocket) => void;

  /** Use {@link createPresence}. */
  constructor(of: AnyServer | AnyNamespace, options?: PresenceOptions) {
    super();
    this.settings = settingsOf('createPresence()', presenceOptions, options);
    const { tracked } = this;
    this.onDisconnect = function onDisconnect() {
      tracked.delete(this.id);
    };
    const nsp = namespaceOf(of);
    this.nsp = nsp;
    const open = serviceOf(nsp, EVENT, (reason) => this.tell('malformed', reason));
    this.registry = new PresenceRegistry(open, (name) => this.changed(name));
    this.updates = new PresenceUpdates({
      usersOf: (name) => this.registry.usersOf(name),
      isWatched: (name) => this.tellsEach || this.registry.hasLocal(name) || nsp.adapter.rooms.has(roomOf(name)),
      isBusy: () => {
        const { engine } = privateParts(nsp.server);
        return engine instanceof Engine && engine.load.level >= 1;
      },
      onUpdate: (update) => this.updated({ ...update, room: roomOf(update.room) } as PresenceUpdate<Data>),
    });
    if (this.settings.tellsMembers)
      this.members = new PresenceMembers(nsp, (room) => this.updates.toldOf(nameOf(room)));
    nsp.adapter.on('join-room', this.onJoin);
    nsp.adapter.on('leave-room', this.onLeave);
  }

  /**
   * Counts a socket as the user's in all rooms that it is in or joins, until it leaves them or disconnects. Rooms whose names have
   * more than 256 characters are left out.
   *
   * Call it once for each socket, also if `socket.recovered` is true: a worker does not know what another one tracked, nor what it
   * tracked itself before the client was disconnected.
   * @param user the identity of the user, which several sockets may share: a text of at most 256 characters. Check what a client
   *   sends, since an error that a listener of `connection` throws ends the process.
   * @param data what others shall know of the user, such as a name to show: JSON, of which a copy is kept. Of several for a user, the
   *   newest of each worker counts.
   * @throws GjallarError BAD_INPUT for a socket that is tracked already, for another user, and for data that is not JSON, or has more
   *   than `maxDataBytes`
   */
  track(socket: AnySocket, user: string, data?: Data): void {
    if (this.tracked.has(socket.id)) {
      throw new GjallarError(
        'BAD_INPUT',
        'This socket is tracked already. Call track() once for each, and update() for other data.',
      );
    }
    this.tracked.set(socket.id, { user: checkedName('user', user), data: this.copied(data) });
    // `socket.rooms` would create a set for each socket.
    for (const room of membersOf(this.nsp.adapter.sids, socket.id)) this.onJoin(room, socket.id);
    // The socket has left all rooms by then.
    socket.on('disconnect', this.onDisconnect);
  }

  /**
   * Gives the user of a tracked socket other data, or none, in the rooms of the socket and those that it joins.
   * @throws GjallarError as track(), for the data; BAD_INPUT for a socket that is connected and not tracked
   */
  update(socket: AnySocket, data: Data | undefined): void {
    const tracked = this.tracked.get(socket.id);
    if (!tracked) {
      if (!socket.connected) return;
      throw new GjallarError('BAD_INPUT', 'This socket is not tracked. Call track() before update().');
    }
    tracked.data = this.copied(data);
    for (const room of socket.rooms) {
      this.each(room, socket.id, (name, { user, data }) => this.registry.update(name, user, data));
    }
  }

  /**
   * Counts a user who is in a room without a socket, such as one on a plain WebSocket, until as many calls of `remove()`.
   * @param room a text of at most 256 characters
   * @throws GjallarError as track(), and for the room
   */
  add(room: string, user: string, data?: Data): void {
    this.enter(nameOf(checkedName('room', room)), checkedName('user', user), this.copied(data));
  }

  /** The user that `add()` has counted has left the room. */
  remove(room: string, user: string): void {
    this.registry.remove(nameOf(room), user);
  }

  /** The users of a room. Treat their data as read-only. */
  usersOf(room: string): PresentUsers<Data> {
    return this.registry.usersOf(nameOf(room)) as PresentUsers<Data>;
  }

  /** The rooms with at least one user. */
  rooms(): Set<string> {
    return new Set(roomsNamed([...this.registry.rooms()]) as string[]);
  }

  /** Tells the other workers that this worker's users are gone. Call it before the server closes. */
  close(): void {
    this.nsp.adapter.off('join-room', this.onJoin);
    this.nsp.adapter.off('leave-room', this.onLeave);
    this.members?.close();
    this.registry.close();
    this.updates.close();
  }

  /** Whether each user is told of, in all rooms. */
  private get tellsEach(): boolean {
    return this.hasListeners('join') || this.hasListeners('leave');
  }

  private get hasUpdates(): boolean {
    return this.members !== undefined || this.tellsEach || this.hasListeners('update');
  }

  private enter(name: string, user: string, data: unknown): void {
    if (this.hasUpdates) this.updates.watch(name);
    this.registry.add(name, user, data);
  }

  private changed(name: string): void {
    if (this.hasUpdates) this.updates.note(name);
    this.tell('change', roomOf(name));
  }

  private updated(update: PresenceUpdate<Data>): void {
    const { room, joined, left } = update;
    this.members?.tell(update);
    this.tell('update', update);
    for (const [user, data] of left ?? []) this.tell('leave', room, user, data);
    for (const [user, data] of joined ?? []) this.tell('join', room, user, data);
  }

  /** @throws GjallarError BAD_INPUT */
  private copied(data: unknown): unknown {
    if (data === undefined) return undefined;
    const { maxDataBytes } = this.settings;
    let text: string | undefined;
    try {
      text = JSON.stringify(data);
    } catch {
      // Below.
    }
    if (text !== undefined && Buffer.byteLength(text) <= maxDataBytes) return JSON.parse(text);
    throw new GjallarError(
      'BAD_INPUT',
      `The data of a user must be JSON of at most ${maxDataBytes} bytes (maxDataBytes). Track less of the user.`,
    );
  }

  private each(room: unknown, id: string, change: (room: string, tracked: Tracked) => void): void {
    const tracked = this.tracked.get(id);
    // Each socket's own room is not a room of users.
    if (tracked === undefined || room === id) return;
    const name = nameOf(room);
    // Another worker cannot have a room that is an object.
    if (isNamedHere(name) || !isShort(typeof room === 'string' ? room : name) || !this.settings.isRoom(name)) return;
    change(name, tracked);
  }
}

const roomOf = (name: string): string => roomNamed(name) as string;

const isShort = (text: string): boolean => text.length <= MAX_NAME_CHARACTERS;

/** @throws GjallarError BAD_INPUT */
function checkedName(what: 'room' | 'user', text: unknown): string {
  if (typeof text === 'string' && isShort(text)) return text;
  throw new GjallarError(
    'BAD_INPUT',
    `A ${what} in presence must be a text of at most ${MAX_NAME_CHARACTERS} characters. Check what clients send, or use an id.`,
  );
}
