import type { HybridClock } from '../clock.js';
import type { Change, Entries } from '../entries.js';
import type { StateRoomSettings } from '../options.js';
import type { RoomKeys } from './fields.js';

/** What a store needs of its room. */
export interface StoredRoom {
  readonly name: string;
  readonly entries: Entries;
  readonly keys: RoomKeys;
  readonly settings: StateRoomSettings;
  apply(change: Change): void;
  /** The room cannot be stored, or can again. */
  onStore(isUp: boolean, reason: string): void;
}

/** What a store needs to know of the workers. */
export interface StoreWorkers {
  /** Names this worker. */
  readonly node: string;
  readonly clock: HybridClock;
  /** Whether this worker does what one worker must do. */
  readonly isFirst: boolean;
  /** The time up to which this worker has every change. */
  complete(): number;
}
