import { requireRoom } from '../../accounts/identity.js';
import { GjallarError } from '../../errors.js';
import { directBetween } from '../../history/conversations/conversation.js';
import type { ChatContext } from '../context.js';
import { asChatMessage, asDirectMessage } from '../conversations/post.js';
import { readName, readObject, readPage, readRoom } from '../input.js';
import type { ChatSocket, HistoryReply } from '../protocol.js';

export async function history(context: ChatContext, socket: ChatSocket, input: unknown): Promise<HistoryReply> {
  const fields = readObject(input);
  const page = readPage(fields);
  const { conversations } = context;
  if (!conversations) throw new GjallarError('HISTORY_OFF');
  if (fields.with === undefined) {
    const room = readRoom(fields.room);
    requireRoom(socket.data.grant, 'join', room);
    const { messages, ...rest } = await conversations.read({ room }, page, socket.conn);
    return { messages: messages.map((message) => asChatMessage(room, message)), ...rest };
  }
  const other = readName(fields.with);
  const own = socket.data.name;
  const { messages, ...rest } = await conversations.read(directBetween(own, other), page, socket.conn);
  return { messages: messages.map((message) => asDirectMessage([own, other], message)), ...rest };
}
