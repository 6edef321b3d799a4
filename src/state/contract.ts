/** How a client joins. */
export interface JoinOptions {
  /** `meta.version` of the last message that the client has. Anything else than such a version counts as none. */
  version?: unknown;
  /** How many updates a second the client gets at most, 0.01 to 1,000. @default as many as it reads */
  maxRate?: number | undefined;
}

/** What `join()` returns: an answer for the client. */
export type Joined =
  | {
      ok: true;
      /** The event of the changes. */
      event: string;
      /** How many keys the room has. */
      keys: number;
    }
  | {
      ok: false;
      /** STATE_BUSY while `maxBehind` members are behind; BAD_INPUT for a `maxRate` out of range, or a closed room. */
      code: string;
      message: string;
    };

/** What a room counts. */
export interface StateRoomStats {
  keys: number;
  /** Of keys and values, encoded. */
  bytes: number;
  /** On this worker. */
  members: number;
  /** Members of this worker that lack something that others have got. */
  behind: number;
  /** Members of this worker without `maxRate` that have been behind for more than 30 s. */
  behindLong: number;
  /** Changes since the start, those of other workers included. */
  changes: number;
  /** Changes that a member of this worker did not need because a later one replaced them, over all members. */
  conflated: number;
  /** About how many bytes that has saved. */
  savedBytes: number;
  /** Keys that this worker has changed and that are not stored yet; 0 without a store. */
  unstored: number;
}

/** The events of a room for the application. */
export interface StateRoomEvents {
  /** Keys have changed, here or on another worker. At most one per window. */
  change: [keys: string[]];
  /** The room cannot be stored in Redis. The worker keeps trying. */
  storeDown: [reason: string];
  /** The room is stored again, and nothing is missing. */
  storeUp: [];
}
