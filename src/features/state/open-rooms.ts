import { featureFigures } from '../../base/figures.js';
import type { StateRoomStats } from './state-room.js';

/** A state room as the metrics see it. */
interface MeasuredRoom {
  readonly name: string;
  /** The share of its bounds that is in use, of keys or of bytes: 0 to 1. */
  readonly fullness: number;
  stats(): StateRoomStats;
}

/** From this share of a bound on, a room is nearly full. */
const NEARLY_FULL = 0.9;

/** The state rooms of this worker, of all its servers. There may be very many, so all of them are one part of the figures. */
class OpenRooms {
  private readonly rooms = new Set<MeasuredRoom>();
  /** Of rooms that are closed. */
  private changes = 0;
  private isUsed = false;

  add(room: MeasuredRoom): void {
    this.rooms.add(room);
    if (!this.isUsed) featureFigures.add(() => this.figures());
    this.isUsed = true;
  }

  remove(room: MeasuredRoom): void {
    if (this.rooms.delete(room)) this.changes += room.stats().changes;
  }

  /** What operators should know; undefined if no room is nearly full. */
  get warning(): string | undefined {
    const { fullest } = this;
    if (!fullest || fullest.fullness < NEARLY_FULL) return undefined;
    return `the state room "${fullest.name}" is nearly full: beyond its bounds, set() throws STATE_FULL`;
  }

  private get fullest(): MeasuredRoom | undefined {
    let fullest: MeasuredRoom | undefined;
    for (const room of this.rooms) if (!fullest || room.fullness > fullest.fullness) fullest = room;
    return fullest;
  }

  private figures() {
    let { changes } = this;
    let [bytes, members, behindLong, unstored] = [0, 0, 0, 0];
    for (const room of this.rooms) {
      const stats = room.stats();
      changes += stats.changes;
      bytes += stats.bytes;
      members += stats.members;
      behindLong += stats.behindLong;
      unstored += stats.unstored;
    }
    return {
      gjallar_state_bytes: bytes,
      gjallar_state_fullness_ratio: this.fullest?.fullness,
      gjallar_state_members: members,
      gjallar_state_members_behind_long: behindLong,
      gjallar_state_changes_total: changes,
      gjallar_state_unstored: unstored,
    };
  }
}

export const openRooms = new OpenRooms();
