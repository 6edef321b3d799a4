import type { AnySocket } from '../../../io/any.js';

/** A room that a socket is in. */
interface Joinable {
  leave(socket: AnySocket): void;
  /** The client has read a message of the room that has marks. */
  acknowledge(socket: AnySocket, marks: Readonly<Record<string, unknown>>): void;
}

/** The event with which clients say what they have read: an object with the mark of each room, by the room's event. */
const ACK_EVENT = 'state:ack';

const roomsOf = new WeakMap<AnySocket, Set<Joinable>>();

/** Has a socket leave a room when it disconnects, and passes on what it acknowledges. It has one listener for all its rooms. */
export function listenFor(socket: AnySocket, room: Joinable): void {
  const known = roomsOf.get(socket);
  if (known) {
    known.add(room);
    return;
  }
  const rooms = new Set([room]);
  roomsOf.set(socket, rooms);
  socket.on(ACK_EVENT, (marks: unknown) => {
    if (typeof marks !== 'object' || marks === null) return;
    for (const each of rooms) each.acknowledge(socket, marks as Record<string, unknown>);
  });
  socket.once('disconnect', () => {
    roomsOf.delete(socket);
    for (const each of rooms) each.leave(socket);
  });
}

/** The socket is not in the room any more. */
export function listenNoMore(socket: AnySocket, room: Joinable): void {
  roomsOf.get(socket)?.delete(room);
}
