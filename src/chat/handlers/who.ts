import type { ChatContext, ChatSocket } from '../context.js';
import { readRoom } from '../input.js';
import type { WhoReply } from '../protocol.js';

export async function who({ roster }: ChatContext, _socket: ChatSocket, input: unknown): Promise<WhoReply> {
  const room = readRoom(input);
  const { members, users } = roster.usersOf(room);
  return { room, members, users: [...users].sort() };
}
