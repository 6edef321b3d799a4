import { GjallarError } from '../../base/errors.js';
import { thisProcess } from '../../base/process.js';
import type { EngineRequest } from '../../engine/http/request.js';
import type { Accounts, Identity } from '../accounts/identity.js';
import { failureOf } from './handlers/answer.js';
import { identify } from './identify.js';
import type { ChatSocket } from './protocol.js';

/** What the tokens of connecting clients say. */
const identities = new WeakMap<ChatSocket, Identity>();

/** What the token of a client said when it was admitted; undefined if no token is required. */
export const identityOf = (socket: ChatSocket): Identity | undefined => identities.get(socket);

/** The connections of clients that are being admitted. */
const arriving = new WeakSet<ChatSocket['conn']>();

/** The user's name comes from `auth.token`, or from `auth.name` if no token is required. By default it is generated. */
export async function admit(
  accounts: Accounts | undefined,
  socket: ChatSocket,
  next: (error?: Error) => void,
): Promise<void> {
  const { conn } = socket;
  // socket.io rejects a second CONNECT only once the first one has passed the middleware.
  if (arriving.has(conn)) return void conn.close();
  arriving.add(conn);
  try {
    const identity = await identify(accounts, socket.handshake.auth, socket.id);
    const { name, displayName, grant } = identity;
    Object.assign(socket.data, { name, displayName, grant });
    if (accounts) identities.set(socket, identity);
    next();
  } catch (error) {
    if (error instanceof GjallarError) {
      thisProcess.reports.rejected(error.code, socket.request as unknown as EngineRequest);
    }
    // socket.io sends a CONNECT_ERROR with the error's message and `data`.
    next(error instanceof GjallarError ? Object.assign(error, { data: failureOf(error) }) : (error as Error));
  } finally {
    arriving.delete(conn);
  }
}
