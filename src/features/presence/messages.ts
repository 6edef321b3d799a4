import { MalformedMessage } from '../../base/errors.js';
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

/**
 * What another worker has sent. Unknown fields pass: a newer version may send them during an upgrade.
 * @throws MalformedMessage
 */
export function checkedMessage(value: unknown): PresenceMessage {
  const { type, rooms } = (value ?? {}) as Partial<PresenceMessage>;
  if (type !== 'changes' && type !== 'state') throw new MalformedMessage('a message of presence has no known type');
  if (typeof rooms !== 'object' || rooms === null || !Object.values(rooms).every(areUsers)) {
    throw new MalformedMessage('a message of presence has invalid rooms');
  }
  return value as PresenceMessage;
}

function areUsers(users: unknown): users is LocalUsers {
  return Number.isInteger(users) || (Array.isArray(users) && users.every((user) => typeof user === 'string'));
}
