import type { NamePairs } from './display-names.js';

/** A worker's users in a room: their names, or only their number if there are too many. */
export type LocalUsers = string[] | number;

/** A worker's users in some rooms. */
export interface UsersInRooms {
  rooms: Record<string, LocalUsers>;
  /** Display names, by room, of the users that `rooms` lists. Workers of earlier versions neither send nor read them. */
  names?: Record<string, NamePairs>;
}

/** What workers tell each other: rooms whose users have changed, or, to a worker that asks, all of them. */
export type PresenceMessage = { readonly type: 'changes' | 'state' } & UsersInRooms;
