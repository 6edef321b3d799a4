import { requireRoom } from '../../accounts/identity.js';
import { GjallarError } from '../../errors.js';
import { type ChatContext, type ChatSocket, ioRoomOf, roomsOf } from '../context.js';
import { readRoom } from '../input.js';
import type { JoinReply } from '../protocol.js';

/** In how many rooms one socket may be. */
export const MOST_ROOMS = 100;

export async function join(context: ChatContext, socket: ChatSocket, input: unknown): Promise<JoinReply> {
  const room = readRoom(input);
  requireRoom(socket.data.grant, 'join', room);
  const { roster, presence, workerId } = context;
  if (!socket.rooms.has(ioRoomOf(room))) {
    if (roomsOf(socket).length >= MOST_ROOMS) throw new GjallarError('TOO_MANY_ROOMS');
    presence.watch(room);
    await socket.join(ioRoomOf(room));
    // A bus that takes its time to join may leave a socket behind that has gone meanwhile.
    if (socket.connected) roster.add(room, socket.data.name);
  }
  const position = await context.conversations?.follow(room);
  return { room, members: roster.usersOf(room).members, worker: workerId, ...position };
}
