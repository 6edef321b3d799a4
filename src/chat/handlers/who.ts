import { requireRoom } from '../../accounts/identity.js';
import type { ChatContext } from '../context.js';
import { readRoom } from '../input.js';
import type { ChatSocket, WhoReply } from '../protocol.js';

export async function who({ memberLists }: ChatContext, socket: ChatSocket, input: unknown): Promise<WhoReply> {
  const room = readRoom(input);
  requireRoom(socket.data.grant, 'join', room);
  return { room, ...memberLists.of(room) };
}
