import { requireRoom } from '../../accounts/identity.js';
import { GjallarError } from '../../errors.js';
import { type ChatContext, ioRoomOf, roomsOf } from '../context.js';
import { readRoom } from '../input.js';
import type { ChatSocket, JoinReply } from '../protocol.js';

/** How many rooms one socket may join. */
export const MAX_ROOMS = 100;

export async function join(context: ChatContext, socket: ChatSocket, input: unknown): Promise<JoinReply> {
  const room = readRoom(input);
  requireRoom(socket.data.grant, 'join', room);
  const { presenceRegistry, presenceBroadcaster, memberLists, workerId } = context;
  const { name, displayName } = socket.data;
  if (!socket.rooms.has(ioRoomOf(room))) {
    if (roomsOf(socket).length >= MAX_ROOMS) throw new GjallarError('TOO_MANY_ROOMS');
    presenceBroadcaster.watch(room);
    await socket.join(ioRoomOf(room));
    // The socket may have disconnected while the backplane was joining the room.
    if (socket.connected) presenceRegistry.add(room, name, displayName);
  }
  const position = await context.conversations?.follow(room);
  return { room, members: memberLists.count(room), worker: workerId, ...position };
}
