import { workerIn } from '../../../../base/worker-name.js';

/**
 * A room as workers announce it: 31 bits, so that a room costs four bytes in an announcement whatever its name. Two rooms
 * with the same key cost a message that reaches a worker without members, which ignores it. Clients can find such rooms, so nothing
 * may rest on a key alone that would keep a message from a worker.
 */
export type RoomKey = number;

const PRIME = 0x01000193;
const OFFSET = 0x811c9dc5;
const SEPARATOR = 0x1f;

/** The FNV-1a hash of a namespace and a room in it. */
export function roomKeyOf(nsp: string, room: string): RoomKey {
  const hash = hashed(Math.imul(hashed(OFFSET, nsp) ^ SEPARATOR, PRIME), room);
  return (hash ^ (hash >>> 15)) & 0x7fffffff;
}

/** In place of a namespace: each worker is in a room that has its name, to which messages to the ids of its sockets go. */
export const WORKERS = '';

/** The keys by which a message to rooms finds its way. One to an id is also for the worker that the id names. */
export function keysOf(nsp: string, rooms: readonly string[]): RoomKey[] {
  const keys = rooms.map((room) => roomKeyOf(nsp, room));
  for (const room of rooms) {
    const worker = workerIn(room);
    if (worker !== undefined) keys.push(roomKeyOf(WORKERS, worker));
  }
  return keys;
}

function hashed(start: number, text: string): number {
  let hash = start;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), PRIME);
  return hash;
}

/** The rooms that this worker has members of, and those that it has announced to the others. */
export class OwnRooms {
  /** How many rooms with a key there are: several rooms may share one. */
  private readonly counts = new Map<RoomKey, number>();
  private readonly changed = new Set<RoomKey>();
  /** What the others know, or will know once what was sent to them has arrived. */
  readonly announced = new Set<RoomKey>();

  /**
   * @param onNew called when a room is there that must be announced at once
   * @param onOld called when a room is gone, which has time until the next window
   */
  constructor(
    private readonly onNew: () => void,
    private readonly onOld: () => void,
  ) {}

  /** Call this when the first member has entered a room, unless its name is an id that names this worker. */
  add(nsp: string, room: string): void {
    const key = roomKeyOf(nsp, room);
    const count = this.counts.get(key) ?? 0;
    this.counts.set(key, count + 1);
    if (count > 0) return;
    this.changed.add(key);
    if (!this.announced.has(key)) this.onNew();
  }

  /** Call this when the last member has left. */
  remove(nsp: string, room: string): void {
    const key = roomKeyOf(nsp, room);
    const count = this.counts.get(key) ?? 0;
    if (count > 1) this.counts.set(key, count - 1);
    else {
      this.counts.delete(key);
      if (this.announced.has(key)) {
        this.changed.add(key);
        this.onOld();
      } else this.changed.delete(key);
    }
  }

  /** What has changed since the last call. The caller announces it. */
  takeChanges(): { added: RoomKey[]; removed: RoomKey[] } {
    const added: RoomKey[] = [];
    const removed: RoomKey[] = [];
    for (const key of this.changed) {
      const isHere = this.counts.has(key);
      if (isHere === this.announced.has(key)) continue;
      if (isHere) {
        added.push(key);
        this.announced.add(key);
      } else {
        removed.push(key);
        this.announced.delete(key);
      }
    }
    this.changed.clear();
    return { added, removed };
  }
}
