import { type ChatContext, ioRoomOf } from '../context.js';
import { readRoom } from '../input.js';
import type { ChatSocket } from '../protocol.js';

export async function leave({ presenceRegistry }: ChatContext, socket: ChatSocket, input: unknown): Promise<object> {
  const room = readRoom(input);
  if (socket.rooms.has(ioRoomOf(room))) {
    await socket.leave(ioRoomOf(room));
    presenceRegistry.remove(room, socket.data.name);
  }
  return {};
}
