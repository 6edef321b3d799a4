import { z } from 'zod';
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

const count = z.int().min(0);
const node = z.string().min(1).max(128);
/** The names of a room's users, or only their number. */
const isUsers = (users: unknown) =>
  Number.isInteger(users) || (Array.isArray(users) && users.every((user) => typeof user === 'string'));
/** By room. Not a record of zod's, which passes over the room `__proto__`. */
const rooms = z.custom((value) => typeof value === 'object' && value !== null && Object.values(value).every(isUsers));

/** What another worker sends. Unknown fields pass: a newer version may send them during an upgrade. */
export const presenceMessage = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('changes'), node, sequence: count, rooms }),
  z.looseObject({ type: z.literal('state'), node, sequence: count, rooms }),
  z.looseObject({
    ...{ type: z.literal('heartbeat'), node, sequence: count },
    totals: z.looseObject({ clients: count, messages: count }),
  }),
  z.looseObject({ type: z.literal('request'), node, of: z.string().nullish() }),
  z.looseObject({ type: z.literal('bye'), node }),
]);
