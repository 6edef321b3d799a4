import { isDeepStrictEqual } from 'node:util';
import { MAX_NAMED, type RoomUsers, type UsersWithData } from './registry.js';

/** The shortest time between two updates of a room, in ms. */
const INTERVAL_MS = 250;
/** A user who is back within this time, such as after a reload of the page, has not left, in ms. */
const LEAVE_MS = 1000;

/** What has changed in a room. */
export interface PresenceUpdate<Data = unknown> {
  room: string;
  /** The number of users. */
  members: number;
  /**
   * Those that have joined, with their data. After the room had more than {@link MAX_NAMED} users, all of them. While it has more,
   * this and the others are undefined.
   */
  joined?: ReadonlyMap<string, Data | undefined>;
  /** Those with other data than before. */
  changed?: ReadonlyMap<string, Data | undefined>;
  /** Those that have left, with the data that they had. */
  left?: ReadonlyMap<string, Data | undefined>;
  /** How many sockets each user has that has several, if that has changed. */
  sockets?: ReadonlyMap<string, number>;
}

interface UpdatesHost {
  usersOf(room: string): RoomUsers;
  /** Whether somebody wants to know of a room. */
  isWatched(room: string): boolean;
  /** Whether updates have to wait, because the worker has more to do than it can. */
  isBusy(): boolean;
  onUpdate(update: PresenceUpdate): void;
}

/** Compares rooms with what was told of them before, so that a burst of changes is one update. */
export class PresenceUpdates {
  /** The users that were told, or their number. */
  private readonly told = new Map<string, UsersWithData | number>();
  /** Their numbers of sockets, in rooms in which one has several. */
  private readonly sockets = new Map<string, ReadonlyMap<string, number>>();
  /** Those of them that are not there, and since when. */
  private readonly absent = new Map<string, Map<string, number>>();
  private changed = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly host: UpdatesHost) {}

  /** A user is about to join a room: the others that are there are not new. */
  watch(room: string): void {
    if (this.told.has(room)) return;
    const { members, users, sockets } = this.host.usersOf(room);
    this.told.set(room, members > MAX_NAMED ? members : users);
    if (sockets.size > 0) this.sockets.set(room, sockets);
  }

  /** A room has changed. */
  note(room: string): void {
    this.changed.add(room);
    this.timer ??= setTimeout(() => this.tellAll(), INTERVAL_MS);
  }

  /** What was told of a room, or would be. */
  toldOf(room: string): { members: number; users?: ReadonlyMap<string, unknown> } {
    const told = this.told.get(room);
    if (typeof told === 'object') return { members: told.size, users: told };
    const { members, users } = this.host.usersOf(room);
    return members > MAX_NAMED ? { members } : { members, users };
  }

  close(): void {
    clearTimeout(this.timer);
  }

  private tellAll(): void {
    this.timer = undefined;
    const { changed } = this;
    this.changed = new Set();
    // They are not lost: they are part of the next updates.
    if (this.host.isBusy()) for (const room of changed) this.note(room);
    else for (const room of changed) this.tell(room);
  }

  private tell(room: string): void {
    const before = this.told.get(room) ?? (new Map() as UsersWithData);
    if (!this.host.isWatched(room)) return this.forget(room);
    const { members, users, sockets } = this.host.usersOf(room);
    if (members > MAX_NAMED) {
      this.told.set(room, members);
      this.absent.delete(room);
      if (members !== before) this.host.onUpdate({ room, members });
    } else if (typeof before === 'number') {
      this.told.set(room, users);
      this.host.onUpdate({ room, members, joined: users, changed: new Map(), left: new Map() });
    } else this.compare(room, before, users, sockets);
    if (members === 0 && !this.absent.has(room)) this.forget(room);
  }

  private compare(room: string, told: UsersWithData, users: UsersWithData, sockets: ReadonlyMap<string, number>): void {
    const [joined, changed, left]: UsersWithData[] = [new Map(), new Map(), new Map()] as const;
    const absent = new Map<string, number>();
    const now = performance.now();
    for (const [user, data] of told) {
      if (users.has(user)) continue;
      const since = this.absent.get(room)?.get(user) ?? now;
      if (now - since < LEAVE_MS) absent.set(user, since);
      else {
        left!.set(user, data);
        told.delete(user);
      }
    }
    for (const [user, data] of users) {
      const isNew = !told.has(user);
      if (!isNew && isDeepStrictEqual(told.get(user), data)) continue;
      (isNew ? joined : changed)!.set(user, data);
      told.set(user, data);
    }
    this.told.set(room, told);
    if (absent.size === 0) this.absent.delete(room);
    else {
      this.absent.set(room, absent);
      this.note(room);
    }
    const isOther = !isDeepStrictEqual(sockets, this.sockets.get(room) ?? new Map());
    if (sockets.size > 0) this.sockets.set(room, sockets);
    else this.sockets.delete(room);
    if (!isOther && joined!.size + changed!.size + left!.size === 0) return;
    const update = { room, members: told.size, joined, changed, left } as PresenceUpdate;
    this.host.onUpdate(isOther ? { ...update, sockets } : update);
  }

  private forget(room: string): void {
    this.told.delete(room);
    this.sockets.delete(room);
    this.absent.delete(room);
  }
}
