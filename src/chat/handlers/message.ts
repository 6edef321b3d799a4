import { GjallarError } from '../../errors.js';
import { type ChatContext, type ChatSocket, ioRoomOf } from '../context.js';
import { readObject, readRoom, readText } from '../input.js';

export async function message({ io }: ChatContext, socket: ChatSocket, input: unknown): Promise<object> {
  const fields = readObject(input);
  const room = readRoom(fields.room);
  const text = readText(fields.text);
  if (!socket.rooms.has(ioRoomOf(room))) throw new GjallarError('NOT_IN_ROOM');
  io.to(ioRoomOf(room)).emit('message', { room, from: socket.data.name, text, at: Date.now() });
  return {};
}
