import type { NamePairs } from './display-names.js';

/** A worker's users in a room: their names, or only their number if there are too many. */
export type LocalUsers = string[] | number;

/** A worker's users in some rooms. */
export interface UsersInRooms {
  rooms: Record<string, LocalUsers>;
  /** Display names, by room, of the users that `rooms` lists. Workers of earlier versions neither send nor read them. */
  names?: Record<string, NamePairs>;
}

/** A worker's own counts. */
export interface WorkerTotals {
  /** Connected clients, in rooms or not. */
  clients: number;
  /** Messages posted on this worker since its start. */
  messages: number;
}

export type PresenceRegistryMessage = { node: string } & (
  | /** The changes since change `sequence - 1`. */
  ({ type: 'changes'; sequence: number } & UsersInRooms) /** The state at change `sequence`. */
  | ({ type: 'state'; sequence: number } & UsersInRooms) /** At change `sequence`. */
  | { type: 'heartbeat'; sequence: number; totals: WorkerTotals } /** Asks `of`, or all, for the state. */
  | { type: 'request'; of?: string } /** Stops. */
  | { type: 'bye' }
);
