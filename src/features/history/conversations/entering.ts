import { GjallarError } from '../../../base/errors.js';
import type { AnySocket } from '../../../io/any.js';

/** Rooms whose messages are kept, which clients enter. */
export interface KeptRooms<Place> {
  /** Whether a room of Socket.IO is one of them. */
  isKept(room: string): boolean;
  /** How many of them a client may be in. */
  readonly maxRooms: number;
  /** Called before a client enters a room that it is not in. @throws GjallarError if it may not */
  admit?(): Promise<void>;
  /** Follows the room. Resolves with the position from which on its members get messages as they come. */
  follow(): Promise<Place>;
}

/**
 * Puts a client in a room of Socket.IO whose messages are kept.
 * @throws GjallarError TOO_MANY_ROOMS, and what `admit` and `follow` throw: the client is then no member, unless it was one before
 */
export async function enterKeptRoom<Place>(
  socket: Pick<AnySocket, 'rooms' | 'join' | 'leave' | 'connected'>,
  room: string,
  { isKept, maxRooms, admit, follow }: KeptRooms<Place>,
): Promise<Place> {
  const isMember = socket.rooms.has(room);
  if (!isMember) {
    await admit?.();
    if ([...socket.rooms].filter(isKept).length >= maxRooms) throw new GjallarError('TOO_MANY_ROOMS');
    await socket.join(room);
  }
  try {
    return await follow();
  } catch (error) {
    // A client whose request is rejected is no member: its helper has no handle by which it could leave. If the client has
    // reconnected meanwhile, the room is that of its new socket, which has the same id.
    if (!isMember && socket.connected) await socket.leave(room);
    throw error;
  }
}
