import type { ChatContext } from '../context.js';
import { postDirect } from '../conversations/post.js';
import { readName, readObject, readText } from '../input.js';
import type { ChatSocket, PostReply } from '../protocol.js';

export async function direct(context: ChatContext, socket: ChatSocket, input: unknown): Promise<PostReply> {
  const fields = readObject(input);
  const to = readName(fields.to);
  const text = readText(fields.text);
  return postDirect(context, to, { from: socket.data.name, text, at: Date.now() }, socket.conn);
}
