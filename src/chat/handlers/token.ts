import { isAllowed } from '../../accounts/identity.js';
import { GjallarError } from '../../errors.js';
import { type ChatContext, roomsOf } from '../context.js';
import { identifyByToken } from '../identify.js';
import type { ChatSocket, TokenReply } from '../protocol.js';
import { leave } from './leave.js';

/** Replaces a token before it expires. The connection continues with the rights of the new token. */
export async function token(context: ChatContext, socket: ChatSocket, input: unknown): Promise<TokenReply> {
  const { accounts, expiry, presenceRegistry, states } = context;
  if (!accounts) throw new GjallarError('TOKENS_OFF');
  const identity = await identifyByToken(accounts, input);
  const { name, displayName, grant, expires } = identity;
  if (name !== socket.data.name) throw new GjallarError('TOKEN_OTHER_USER');
  Object.assign(socket.data, { grant, displayName });
  expiry.set(socket, identity);
  for (const room of roomsOf(socket)) {
    if (isAllowed(grant, 'join', room)) presenceRegistry.rename(room, name, displayName);
    else await leave(context, socket, room);
  }
  for (const room of states?.sockets.of(socket) ?? []) {
    if (!isAllowed(grant, 'join', room)) states?.sockets.unwatch(socket, room);
  }
  return { name, expires };
}
