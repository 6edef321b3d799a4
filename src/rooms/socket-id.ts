const SOCKET_ID = /^[\w-]{20}$/;

/** Whether a room may be the own room of a socket. */
export function looksLikeSocketId(room: unknown): room is string {
  return typeof room === 'string' && room.length === 20 && SOCKET_ID.test(room);
}
