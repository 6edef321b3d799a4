import { requireRoom } from '../../accounts/identity.js';
import { GjallarError } from '../../errors.js';
import { type ChatContext, ioRoomOf } from '../context.js';
import { postToRoom } from '../conversations/post.js';
import { readObject, readRoom, readText } from '../input.js';
import type { ChatSocket, PostReply } from '../protocol.js';

export async function message(context: ChatContext, socket: ChatSocket, input: unknown): Promise<PostReply> {
  const fields = readObject(input);
  const room = readRoom(fields.room);
  const text = readText(fields.text);
  if (!socket.rooms.has(ioRoomOf(room))) throw new GjallarError('NOT_IN_ROOM');
  requireRoom(socket.data.grant, 'publish', room);
  const [position] = await postToRoom(context, room, [{ from: socket.data.name, text, at: Date.now() }], {
    client: socket.conn,
  });
  return position!;
}
