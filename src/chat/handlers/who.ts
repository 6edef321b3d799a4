import { requireRoom } from '../../accounts/identity.js';
import type { ChatContext } from '../context.js';
import { readRoom } from '../input.js';
import type { ChatSocket, WhoReply } from '../protocol.js';

export async function who({ memberLists, costs }: ChatContext, socket: ChatSocket, input: unknown): Promise<WhoReply> {
  const room = readRoom(input);
  requireRoom(socket.data.grant, 'join', room);
  costs?.chargeAtOnce(socket.conn, memberLists.bytesOf(room));
  return { room, ...memberLists.of(room) };
}
