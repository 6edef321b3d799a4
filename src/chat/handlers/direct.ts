import type { ChatContext, ChatSocket } from '../context.js';
import { readName, readObject, readText } from '../input.js';
import { postDirect } from '../post.js';
import type { PostReply } from '../protocol.js';

export async function direct(context: ChatContext, socket: ChatSocket, input: unknown): Promise<PostReply> {
  const fields = readObject(input);
  const to = readName(fields.to);
  const text = readText(fields.text);
  return postDirect(context, to, { from: socket.data.name, text, at: Date.now() }, socket.conn);
}
