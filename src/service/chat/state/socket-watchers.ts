import { GjallarError } from '../../../base/errors.js';
import type { Joined, JoinOptions } from '../../../features/state/index.js';
import type { LocalStateRoom as StateRoom } from '../../../features/state/room.js';
import type { ChatSocket } from '../protocol.js';
import { eventOf, type StateRooms } from './rooms.js';
import type { Watcher } from './watchers.js';

/** How many state rooms one socket may watch. */
export const MAX_WATCHED = 100;
/** After this time, or up to twice as long, a client enters a room that did not let it in when it was created, in ms. */
const RETRY_MS = 1000;

/** The state rooms that the sockets of this worker watch. */
export class SocketWatchers {
  private readonly bySocket = new Map<ChatSocket, Map<string, SocketWatcher>>();

  constructor(private readonly rooms: StateRooms) {}

  /**
   * Sends a socket the state of a room from now on. A socket that watches the room already starts again.
   * @returns the number of keys that the room has at present
   * @throws GjallarError TOO_MANY_ROOMS, STATE_BUSY
   */
  watch(socket: ChatSocket, room: string, options: JoinOptions): number {
    const watched = this.bySocket.get(socket) ?? new Map<string, SocketWatcher>();
    const before = watched.get(room);
    if (!before && watched.size >= MAX_WATCHED) {
      throw new GjallarError(
        'TOO_MANY_ROOMS',
        `This connection watches ${MAX_WATCHED} state rooms, the maximum. Unwatch one before you watch another.`,
      );
    }
    before?.stop();
    if (!socket.connected) return 0;
    const watcher = new SocketWatcher(socket, room, options);
    watched.set(room, watcher);
    this.bySocket.set(socket, watched);
    try {
      watcher.follow(this.rooms);
    } catch (error) {
      this.unwatch(socket, room);
      throw error;
    }
    return watcher.keys;
  }

  unwatch(socket: ChatSocket, room: string): void {
    const watched = this.bySocket.get(socket);
    watched?.get(room)?.stop();
    watched?.delete(room);
    if (watched?.size === 0) this.bySocket.delete(socket);
  }

  /** The rooms that a socket watches. */
  of(socket: ChatSocket): string[] {
    return [...(this.bySocket.get(socket)?.keys() ?? [])];
  }

  /** The socket is gone. */
  forget(socket: ChatSocket): void {
    for (const room of this.of(socket)) this.unwatch(socket, room);
  }
}

class SocketWatcher implements Watcher {
  keys = 0;
  private room: StateRoom | undefined;
  private unfollow = (): void => {};
  private retry: NodeJS.Timeout | undefined;

  constructor(
    private readonly socket: ChatSocket,
    private readonly name: string,
    private options: JoinOptions,
  ) {}

  follow(rooms: StateRooms): void {
    this.unfollow = rooms.watch(this.name, this);
  }

  stop(): void {
    clearTimeout(this.retry);
    this.unfollow();
    this.room?.leave(this.socket);
  }

  enter(room: StateRoom): void {
    this.room = room;
    this.keys = room.size;
    const joined: Joined = room.join(this.socket, this.options);
    if (!joined.ok) throw new GjallarError('STATE_BUSY', joined.message);
  }

  /** The client was told that it watches the room: it gets the state as soon as the others are less behind. */
  refuse(room: StateRoom): void {
    const again = () => {
      try {
        this.enter(room);
      } catch {
        this.refuse(room);
      }
    };
    this.retry = setTimeout(again, RETRY_MS * (1 + Math.random()));
    this.retry.unref();
  }

  empty(): void {
    clearTimeout(this.retry);
    this.room = undefined;
    this.options = { ...this.options, version: undefined };
    // No schema of events has a name for each room.
    (this.socket as unknown as { emit(event: string, ...values: unknown[]): void }).emit(eventOf(this.name), [], {
      snapshot: true,
    });
  }
}
