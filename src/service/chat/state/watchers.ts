import { GjallarError } from '../../../base/errors.js';
import type { LocalStateRoom as StateRoom } from '../../../features/state/room.js';

/** A client that follows a state room, whether the room exists or not. */
export interface Watcher {
  /**
   * The room exists on this worker from now on.
   * @throws GjallarError STATE_BUSY if the room does not let the client in
   */
  enter(room: StateRoom): void;
  /** A room that was created later did not let the client in. */
  refuse(room: StateRoom, error: GjallarError): void;
  /** There is no such room (any more): the client has nothing. */
  empty(): void;
}

/** The clients of this worker that follow state rooms, by the room's name. */
export class Watchers {
  private readonly byRoom = new Map<string, Set<Watcher>>();

  has(name: string, watcher?: Watcher): boolean {
    const ofRoom = this.byRoom.get(name);
    return ofRoom !== undefined && (!watcher || ofRoom.has(watcher));
  }

  add(name: string, watcher: Watcher): void {
    const ofRoom = this.byRoom.get(name) ?? new Set();
    this.byRoom.set(name, ofRoom.add(watcher));
  }

  remove(name: string, watcher: Watcher): void {
    const ofRoom = this.byRoom.get(name);
    if (ofRoom?.delete(watcher) && ofRoom.size === 0) this.byRoom.delete(name);
  }

  /** The room is here now. */
  opened(name: string, room: StateRoom): void {
    let busy: GjallarError | undefined;
    for (const watcher of [...(this.byRoom.get(name) ?? [])]) {
      // The room lets no one else in during this turn, and asking it takes time.
      busy ??= refusalOf(watcher, room);
      if (busy) watcher.refuse(room, busy);
    }
  }

  /** The room is gone. */
  closed(name: string): void {
    for (const watcher of [...(this.byRoom.get(name) ?? [])]) watcher.empty();
  }
}

function refusalOf(watcher: Watcher, room: StateRoom): GjallarError | undefined {
  try {
    watcher.enter(room);
    return undefined;
  } catch (error) {
    if (error instanceof GjallarError) return error;
    throw error;
  }
}
