import { machineTime } from '../../base/clock.js';

const MAX_ROOMS = 10_000;

/**
 * Rooms named like the id of a socket that sockets of other workers have lately joined. A client that is away meanwhile may return
 * to this worker, and have that id. Whether others are in the room of a connected one, its session says.
 */
export class JoinedRooms {
  /** When they were joined, the oldest first. */
  private readonly rooms = new Map<string, number>();
  /** When the last one was joined that is not remembered any more, though a client may still return. */
  private droppedAt = Number.NEGATIVE_INFINITY;

  /** @param max how many are remembered */
  constructor(private readonly max = MAX_ROOMS) {}

  add(room: string): void {
    this.rooms.delete(room);
    this.rooms.set(room, machineTime());
    if (this.rooms.size <= this.max) return;
    const [[oldest, at]] = this.rooms as unknown as [[string, number]];
    this.rooms.delete(oldest);
    this.droppedAt = at;
  }

  mayHave(room: string): boolean {
    return this.rooms.has(room) || this.droppedAt > Number.NEGATIVE_INFINITY;
  }

  /** Forgets the rooms that were joined before a time: all clients that were away then have returned, or cannot. */
  sweep(oldest: number): void {
    if (this.droppedAt < oldest) this.droppedAt = Number.NEGATIVE_INFINITY;
    for (const [room, at] of this.rooms) {
      if (at >= oldest) return;
      this.rooms.delete(room);
    }
  }
}
