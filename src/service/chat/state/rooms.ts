import { GjallarError } from '../../../base/errors.js';
import { own } from '../../../base/owner.js';
import { KEY_BYTES } from '../../../features/state/entries.js';
import { openStateRoom } from '../../../features/state/open.js';
import type { LocalStateRoom as StateRoom } from '../../../features/state/room.js';
import type { Encoded } from '../../../features/state/values.js';
import { readRoom } from '../input.js';
import type { ChatServer } from '../protocol.js';
import { RoomOwners } from './owners.js';
import { type Watcher, Watchers } from './watchers.js';

/** The bounds of the state rooms of the chat service. */
export interface StateLimits {
  /** Of all workers and machines together. */
  rooms: number;
  /** Of those that the same user has created. */
  roomsPerUser: number;
  /** Of each room. */
  keys: number;
  /** Of memory that all rooms together may take; see {@link StateRoom.footprint}. */
  bytes: number;
  /** Of one value. */
  valueBytes: number;
  /** Of a value that is patched. */
  patchBytes: number;
  /** Of the members of a room that are behind, on each worker. @default that of state rooms */
  behind?: number;
  /** Whether the room of the demo page changes by itself while it is watched. */
  hasDemo?: boolean;
}

/** What changes a room. */
export interface Writer {
  /** The user who owns a room that the change creates; undefined for a room that belongs to no user. */
  readonly user: string | undefined;
  /** Does the work when it is the writer's turn. */
  turn<T>(work: () => Promise<T>): Promise<T>;
}

const AT_ONCE: Writer = { user: undefined, turn: (work) => work() };

/** No room of a user has a control character in its name. Warnings name the directory if it is nearly full. */
const DIRECTORY = 'the list of state rooms\x1f';
/** A room's name has up to 128 characters, of up to three bytes each. */
const MAX_NAME_BYTES = 384;

/**
 * The state rooms of the chat service, the same on all workers and machines. A room begins with its first key, and ends
 * when it is removed.
 *
 * The rooms themselves are listed in a state room, the directory. Each worker opens the rooms that it lists, so that all
 * workers have all state. If a room is removed while another worker sets a key, the key wins: a
 * worker that still has keys of a removed room lists it again.
 */
export class StateRooms {
  private readonly open = new Map<string, StateRoom>();
  private readonly watchers = new Watchers();
  private readonly directory: StateRoom;
  private readonly isKnown: Promise<void>;
  private readonly owners: RoomOwners;
  private isClosed = false;

  /** @param onWatched called with the name of a room whose first watcher on this worker has come */
  constructor(
    private readonly io: ChatServer,
    private readonly limits: StateLimits,
    private readonly onWatched: (name: string) => void = () => {},
  ) {
    this.owners = new RoomOwners(limits.roomsPerUser);
    this.directory = openStateRoom(io, DIRECTORY, { maxKeys: limits.rooms, maxKeyLength: MAX_NAME_BYTES });
    this.directory.on('change', (names) => {
      for (const name of names) this.follow(name);
    });
    this.isKnown = this.directory.ready();
  }

  /** Resolves once this worker has what all workers had changed before the call, in a room and of its existence. */
  async caughtUp(name: string): Promise<void> {
    await this.isKnown;
    await this.directory.caughtUp();
    // The directory reports its changes a moment later.
    if (!this.isClosed) this.follow(name);
  }

  /** The room, once this worker has its state; undefined if there is none. */
  async find(name: string): Promise<StateRoom | undefined> {
    await this.isKnown;
    for (;;) {
      const room = this.listed(name);
      await room?.ready();
      // It may have been removed meanwhile.
      if (this.open.get(name) === room) return room;
    }
  }

  /**
   * Changes a room, which is created if there is none.
   * @param change is done in one turn, on a room that has its state
   * @throws GjallarError STATE_FULL if there are too many rooms, OVERLOADED if the worker stops, and what `change` throws
   */
  async write(name: string, change: (room: StateRoom) => void, { user, turn } = AT_ONCE): Promise<void> {
    await this.isKnown;
    try {
      for (let isFirst = true; ; isFirst = false) {
        // Two workers whose rooms make way for each other's would never come to an end.
        const room = this.listed(name) ?? this.create(name, isFirst, user);
        await room.ready();
        const isDone = await turn(async () => {
          // It may have been removed meanwhile.
          if (this.open.get(name) !== room) return false;
          const isListed = this.directory.get(name) !== undefined;
          const isNew = !isListed && room.size === 0;
          if (isNew) this.requirePlace(user);
          change(room);
          if (isNew) this.list(name, user);
          else if (!isListed) this.relist(name);
          return true;
        });
        if (isDone) return;
      }
    } finally {
      // A room that was opened for nothing is closed.
      if (!this.isClosed && this.directory.get(name) === undefined) this.follow(name);
    }
  }

  /**
   * Sets a key within the bounds of the room, and of all rooms together.
   * @param encode the new value
   * @param put sets it
   * @throws GjallarError STATE_FULL, BAD_STATE_KEY, BAD_STATE_VALUE
   */
  async set(
    name: string,
    key: string,
    encode: (room: StateRoom) => Encoded,
    writer = AT_ONCE,
    put = (room: StateRoom, value: Encoded) => room.setEncoded(key, value),
  ): Promise<void> {
    const change = (room: StateRoom) => {
      const value = encode(room);
      const before = room.sizeOf(key);
      const added = before === undefined ? KEY_BYTES + Buffer.byteLength(key) : -before;
      const growth = Buffer.byteLength(value) + added;
      if (growth > 0 && growth > this.limits.bytes - this.bytes) {
        throw this.full(`${this.limits.bytes} bytes of state (STATE_MAX_BYTES)`);
      }
      put(room, value);
    };
    await this.write(name, change, writer);
  }

  /** Deletes all keys of a room, and the room. Returns whether there was one. */
  async remove(name: string, { turn } = AT_ONCE): Promise<boolean> {
    const room = await this.find(name);
    if (!room) return false;
    return turn(async () => {
      if (this.open.get(name) !== room) return false;
      for (const key of [...room.keys()]) room.delete(key);
      this.directory.delete(name);
      return true;
    });
  }

  /**
   * Follows a room until the returned function is called.
   * @throws GjallarError STATE_BUSY if the room is here and does not let the client in, which does not follow it then
   */
  watch(name: string, watcher: Watcher): () => void {
    const room = this.open.get(name);
    if (room) watcher.enter(room);
    const isFirst = !this.watchers.has(name);
    this.watchers.add(name, watcher);
    if (!room) {
      own(
        'letting a client into a state room',
        this.isKnown.then(() => this.begin(name, watcher)),
      );
    }
    if (isFirst) this.onWatched(name);
    return () => this.watchers.remove(name, watcher);
  }

  /** Whether a client of this worker follows the room. */
  isWatched(name: string): boolean {
    return this.watchers.has(name);
  }

  close(): void {
    this.isClosed = true;
    for (const room of this.open.values()) own('closing a state room', room.close());
    this.open.clear();
    own('closing the list of state rooms', this.directory.close());
  }

  private begin(name: string, watcher: Watcher): void {
    if (!this.watchers.has(name, watcher)) return;
    // Opening the room lets all its watchers enter.
    if (!this.open.has(name) && !this.listed(name)) watcher.empty();
  }

  private get bytes(): number {
    let sum = 0;
    for (const { footprint } of this.open.values()) sum += footprint;
    return sum;
  }

  private listed(name: string): StateRoom | undefined {
    if (this.isClosed) return undefined;
    return this.open.get(name) ?? (this.directory.get(name) === undefined ? undefined : this.openHere(name));
  }

  /**
   * Opens a room that is listed with its first key.
   * @param mayReplace whether rooms without keys may make way for it
   */
  private create(name: string, mayReplace: boolean, user: string | undefined): StateRoom {
    if (this.isClosed) throw new GjallarError('OVERLOADED', 'This worker is about to stop. Send the request again.');
    if (mayReplace && this.directory.size >= this.limits.rooms) this.removeEmpty();
    this.requirePlace(user);
    return this.openHere(name);
  }

  /** @throws GjallarError STATE_FULL if there can be no further room, or none of the user */
  private requirePlace(user: string | undefined): void {
    if (this.directory.size >= this.limits.rooms) throw this.full(`${this.limits.rooms} state rooms (STATE_MAX_ROOMS)`);
    this.owners.requirePlace(user);
  }

  /** Makes place for a new room. */
  private removeEmpty(): void {
    for (const [name, room] of this.open) if (room.size === 0) this.directory.delete(name);
  }

  /** A room that was removed has keys: another worker has set them meanwhile. */
  private relist(name: string): void {
    if (this.directory.size >= this.limits.rooms) this.removeEmpty();
    // At the bound, the room stays as it is, and is listed with its next key.
    if (this.directory.size < this.limits.rooms) this.list(name, this.owners.of(name));
  }

  private list(name: string, owner: string | undefined): void {
    this.directory.set(name, owner === undefined ? 1 : { by: owner });
    this.owners.set(name, owner);
  }

  private full(what: string): GjallarError {
    return new GjallarError('STATE_FULL', `This server has ${what}, the maximum. Delete keys or rooms first.`);
  }

  private openHere(name: string): StateRoom {
    const {
      keys: maxKeys,
      bytes: maxBytes,
      valueBytes: maxValueBytes,
      patchBytes: maxPatchBytes,
      behind,
    } = this.limits;
    const bounds = { maxKeys, maxBytes, maxValueBytes, maxPatchBytes, ...(behind && { maxBehind: behind }) };
    const room = openStateRoom(this.io, name, { event: eventOf(name), ...bounds });
    this.open.set(name, room);
    this.watchers.opened(name, room);
    return room;
  }

  /** Opens or closes a room as the directory says. */
  private follow(name: string): void {
    const room = this.open.get(name);
    const listed = this.directory.get(name);
    if (listed !== undefined) {
      this.owners.set(name, ownerIn(listed));
      if (!room && isRoom(name)) this.openHere(name);
    } else if (room && room.size > 0) this.relist(name);
    else {
      this.owners.set(name, undefined);
      if (!room) return;
      this.open.delete(name);
      own('closing a state room', room.close());
      this.watchers.closed(name);
    }
  }
}

/** Other programs may publish on the backplane too. */
function isRoom(name: string): boolean {
  try {
    return readRoom(name) === name;
  } catch {
    return false;
  }
}

/** The owner in an entry of the directory. Older servers, and rooms of the API key, have none. */
function ownerIn(entry: unknown): string | undefined {
  const { by } = (typeof entry === 'object' && entry !== null ? entry : {}) as { by?: unknown };
  return typeof by === 'string' ? by : undefined;
}

/** The event with which clients of Socket.IO receive the changes of a room. */
export function eventOf(name: string): string {
  return `state:${name}`;
}
