import { GjallarError } from '../../../base/errors.js';
import { Tally } from '../../../base/tally.js';

/** The user that has created each state room, and the number of rooms of each user. Rooms of the API key count for no user. */
export class RoomOwners {
  private readonly byRoom = new Map<string, string>();
  private readonly counts = new Tally<string>();

  /** @param max how many rooms a user may have */
  constructor(private readonly max: number) {}

  of(room: string): string | undefined {
    return this.byRoom.get(room);
  }

  /** @param owner undefined for a room that belongs to no user, or is gone */
  set(room: string, owner: string | undefined): void {
    const before = this.byRoom.get(room);
    if (before === owner) return;
    if (before !== undefined) this.counts.remove(before);
    if (owner === undefined) this.byRoom.delete(room);
    else {
      this.byRoom.set(room, owner);
      this.counts.add(owner);
    }
  }

  /** @throws GjallarError STATE_FULL if the user may create no further room */
  requirePlace(user: string | undefined): void {
    if (user === undefined || this.counts.of(user) < this.max) return;
    throw new GjallarError(
      'STATE_FULL',
      `You have created ${this.max} state rooms, the maximum for a user (STATE_MAX_ROOMS_PER_USER). Delete one before you ` +
        'create another.',
    );
  }
}
