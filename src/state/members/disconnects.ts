import type { Socket } from 'socket.io';

// biome-ignore lint/suspicious/noExplicitAny: socket.io's own types for servers with any events
export type AnySocket = Socket<any, any, any, any>;

/** A room that a socket is in. */
interface Joinable {
  leave(socket: AnySocket): void;
}

const roomsOf = new WeakMap<AnySocket, Set<Joinable>>();

/** Has a socket leave a room when it disconnects. It has one listener, however many rooms it joins. */
export function leaveAtDisconnect(socket: AnySocket, room: Joinable): void {
  const known = roomsOf.get(socket);
  if (known) {
    known.add(room);
    return;
  }
  const rooms = new Set([room]);
  roomsOf.set(socket, rooms);
  socket.once('disconnect', () => {
    roomsOf.delete(socket);
    for (const each of rooms) each.leave(socket);
  });
}

/** The socket is not in the room any more. */
export function forgetDisconnect(socket: AnySocket, room: Joinable): void {
  roomsOf.get(socket)?.delete(room);
}
