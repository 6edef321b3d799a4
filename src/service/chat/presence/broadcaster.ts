import { MAX_NAMED, type PresentUsers } from '../../../features/presence/index.js';
import type { RoomPresence } from '../protocol.js';
import { namesOf, type Roster } from './member-lists.js';

/** The minimum time between two broadcasts to the same room, in ms. */
const INTERVAL_MS = 250;

/**
 * Tells the members of a room which users joined and left. Changes are gathered, so a burst of arrivals costs few
 * deliveries. Each worker tells its own members.
 */
export class PresenceBroadcaster {
  private readonly known = new Map<string, PresentUsers>();
  private readonly timers = new Map<string, NodeJS.Timeout>();

  constructor(
    private readonly roster: Roster,
    private readonly send: (presence: RoomPresence) => void,
    private readonly hasMembers: (room: string) => boolean,
    /** Whether presence has to wait, because the worker has more to do than it can. */
    private readonly isBusy: () => boolean = () => false,
  ) {}

  /** Call this before a user joins, so that present users do not count as new. */
  watch(room: string): void {
    if (!this.known.has(room)) this.known.set(room, this.roster.usersOf(room));
  }

  /** Call this when the users of a room have changed. */
  note(room: string): void {
    if (!this.timers.has(room) && this.known.has(room)) this.broadcastLater(room);
  }

  private broadcastLater(room: string): void {
    this.timers.set(
      room,
      setTimeout(() => this.broadcast(room), INTERVAL_MS),
    );
  }

  close(): void {
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
  }

  private broadcast(room: string): void {
    this.timers.delete(room);
    // The changes are not lost: they are part of the next broadcast.
    if (this.isBusy()) return this.broadcastLater(room);
    const before = this.known.get(room);
    if (!before) return;
    if (!this.hasMembers(room)) {
      this.known.delete(room);
      return;
    }
    const now = this.roster.usersOf(room);
    const { members, users } = now;
    this.known.set(room, now);
    if (members > MAX_NAMED) {
      if (members !== before.members) this.send({ room, members });
      return;
    }
    const joined = [...users].filter((user) => !before.users.has(user));
    const left = [...before.users].filter((user) => !users.has(user));
    if (joined.length === 0 && left.length === 0) return;
    const names = namesOf([...joined, ...left], now.names, before.names);
    this.send({ room, members, joined, left, ...(names && { names }) });
  }
}
