import type { Change, Entries } from '../entries.js';

/** A room as replication sees it. */
export interface Replica {
  readonly name: string;
  readonly entries: Entries;
  /** Names one life of the room, made by `newEpoch()`; NO_EPOCH until it is open. */
  epoch: string;
  /** The number of the last change that was sent to the other workers. */
  sent: number;
  /** Whether the room has what the others had when it was opened. */
  isReady: boolean;
  /** The keys that were changed here before that. */
  readonly early: Set<string>;
  /** Whether changes of others had no place: a key that is not here may have a value elsewhere. */
  readonly isPartial: boolean;
  /**
   * Reads what is stored, at most a few seconds long. Undefined for a room that is not stored.
   * @param isFilled whether another worker has given the room to this one
   */
  readonly load: ((isFilled: boolean) => Promise<void>) | undefined;
  /** Applies a change of another worker. */
  apply(change: Change): void;
  /** The state of the others is here. */
  ready(): void;
  /** A worker is gone. */
  onGone(): void;
  /** Versions of clients from before now may hide changes: they get snapshots. */
  distrust(): void;
}

/** The rooms of this worker by name. */
export type Replicas = ReadonlyMap<string, Replica>;
