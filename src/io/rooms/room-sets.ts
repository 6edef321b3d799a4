import { inspect } from 'node:util';
import { Adapter, type Room, type SocketId } from 'socket.io-adapter';

type Members = Set<string>;

/** Stands for the set whose only member is its own key: a socket's own room, or the rooms of a socket in no other. */
const OWN: Members = new Set();
/** Stands for an empty set. A room is empty while the listeners of `create-room` run. */
const EMPTY: Members = new Set();

/**
 * The `rooms` or the `sids` of an adapter. Each socket has a room of its own, and most sockets are in one or two others, such as
 * one of their user, which has one member. Such a set is created when the application asks for it, and kept from then on, so
 * the application may hold it or change it. Until then, a text stands for it.
 */
export class RoomSets extends Map<string, Members> {
  // Applications list the properties of a Map, too.
  readonly #isWithOwn: boolean;

  /** @param isWithOwn whether a text stands for the set of the key and this text (`sids`), and not of this text alone (`rooms`) */
  constructor(isWithOwn: boolean) {
    super();
    this.#isWithOwn = isWithOwn;
  }

  override get(key: string): Members | undefined {
    const created = this.created(key);
    if (created || !this.has(key)) return created;
    const made = new Set(this.membersOf(key));
    super.set(key, made);
    return made;
  }

  /** The set, unless a text or a constant stands for it. */
  created(key: string): Members | undefined {
    const members = this.stored(key);
    return members instanceof Set && members !== OWN && members !== EMPTY ? members : undefined;
  }

  private stored(key: string): Members | string | undefined {
    return super.get(key);
  }

  override *entries(): Generator<[string, Members], undefined> {
    for (const key of super.keys()) yield [key, this.get(key)!];
    return undefined;
  }

  override *values(): Generator<Members, undefined> {
    for (const key of super.keys()) yield this.get(key)!;
    return undefined;
  }

  override forEach(callback: (members: Members, key: string, map: Map<string, Members>) => void, self?: unknown): void {
    for (const [key, members] of this) callback.call(self, members, key, this);
  }

  override [Symbol.iterator](): Generator<[string, Members], undefined> {
    return this.entries();
  }

  /** `console.log()` reads the entries without calling any method. */
  [inspect.custom](): Map<string, Members> {
    return new Map(this);
  }

  createEmpty(key: string): void {
    // An own method may tell a topic.
    this.set(key, EMPTY);
  }

  add(key: string, member: string): void {
    const members = this.stored(key);
    if (members === EMPTY && member === key) super.set(key, OWN);
    // The name of a room may be no text.
    else if (members === (this.#isWithOwn ? OWN : EMPTY) && member !== key && typeof member === 'string')
      super.set(key, member as unknown as Members);
    else if (members !== OWN || member !== key) this.get(key)!.add(member);
  }

  isMember(key: string, member: string): boolean {
    const members = this.stored(key);
    if (members === OWN) return member === key;
    if (typeof members === 'string') return member === members || (this.#isWithOwn && member === key);
    return members?.has(member) ?? false;
  }

  sizeOf(key: string): number {
    const members = this.stored(key);
    if (members === OWN) return 1;
    if (typeof members === 'string') return this.#isWithOwn ? 2 : 1;
    return members?.size ?? 0;
  }

  membersOf(key: string): Iterable<string> {
    const members = this.stored(key);
    if (members === OWN) return [key];
    if (typeof members === 'string') return this.#isWithOwn ? [key, members] : [members];
    return members ?? [];
  }
}

// Jest compares Maps by their constructor.
Object.defineProperty(RoomSets.prototype, 'constructor', { value: Map });

/** The same questions for the sets of any adapter. No set is created for the answer. */
export function isMember(sets: Map<string, Members>, key: string, member: string): boolean {
  return sets instanceof RoomSets ? sets.isMember(key, member) : (sets.get(key)?.has(member) ?? false);
}

export function sizeOf(sets: Map<string, Members>, key: string): number {
  return sets instanceof RoomSets ? sets.sizeOf(key) : (sets.get(key)?.size ?? 0);
}

export function membersOf(sets: Map<string, Members>, key: string): Iterable<string> {
  return sets instanceof RoomSets ? sets.membersOf(key) : (sets.get(key) ?? []);
}

/** The set itself; undefined until it is needed for the first time. */
export function createdSet(sets: Map<string, Members>, key: string): Members | undefined {
  return sets instanceof RoomSets ? sets.created(key) : sets.get(key);
}

/** Lets an adapter create the sets of own rooms on demand, unless its class has an `addAll()` of its own. */
export function withRoomSets<T extends Adapter>(adapter: T): T {
  if (adapter.addAll !== Adapter.prototype.addAll) return adapter;
  useRoomSets(adapter);
  adapter.addAll = (id, rooms) => addToRooms(adapter, id, rooms);
  return adapter;
}

/** For an adapter whose `addAll()` calls {@link addToRooms}. */
export function useRoomSets(adapter: Adapter): void {
  adapter.rooms = new RoomSets(false);
  adapter.sids = new RoomSets(true);
}

/** Does what `Adapter.addAll()` does, and emits the same events in the same order. */
export function addToRooms(adapter: Adapter, id: SocketId, names: ReadonlySet<Room>): void {
  const sids = adapter.sids as RoomSets;
  const rooms = adapter.rooms as RoomSets;
  if (!sids.has(id)) sids.createEmpty(id);
  for (const room of names) {
    sids.add(id, room);
    if (!rooms.has(room)) {
      rooms.createEmpty(room);
      adapter.emit('create-room', room);
    }
    if (rooms.isMember(room, id)) continue;
    rooms.add(room, id);
    adapter.emit('join-room', room, id);
  }
}
