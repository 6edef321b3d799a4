import { failureOf, GjallarError } from '../../base/errors.js';
import { own } from '../../base/owner.js';
import type { MachineWorker } from '../../host/index.js';
import type { EngineRequest } from '../../index.js';
import type { Accounts, Identity } from '../accounts/identity.js';
import { identifyByToken, nameOrGuest } from './identify.js';
import type { ChatSocket } from './protocol.js';

type Reports = Pick<MachineWorker['reports'], 'rejected'>;

/** What the tokens of connecting clients say. */
const identities = new WeakMap<ChatSocket, Identity>();

/** What the token of a client said when it was admitted; undefined if no token is required. */
export const identityOf = (socket: ChatSocket): Identity | undefined => identities.get(socket);

/** The connections of clients that are being admitted. */
const arriving = new WeakSet<ChatSocket['conn']>();

/** Call it when a client is connected: its connection may connect again. */
export const admitted = ({ conn }: ChatSocket) => arriving.delete(conn);

/** The user's name comes from `auth.token`, or from `auth.name` if no token is required. By default it is generated. */
export function admit(
  accounts: Accounts | undefined,
  reports: Reports,
  socket: ChatSocket,
  next: (error?: Error) => void,
): void {
  const { conn } = socket;
  // socket.io rejects a second CONNECT only once the first one has passed the middleware.
  if (arriving.has(conn)) return void conn.close();
  arriving.add(conn);
  if (accounts) return own('verifying a token', admitByToken(accounts, reports, socket, next));
  try {
    enter(socket, nameOrGuest(socket.handshake.auth, socket.id), next);
  } catch (error) {
    reject(reports, socket, error, next);
  }
}

async function admitByToken(
  accounts: Accounts,
  reports: Reports,
  socket: ChatSocket,
  next: (error?: Error) => void,
): Promise<void> {
  try {
    const identity = await identifyByToken(accounts, socket.handshake.auth.token);
    identities.set(socket, identity);
    enter(socket, identity, next);
  } catch (error) {
    reject(reports, socket, error, next);
  }
}

function enter({ data }: ChatSocket, { name, displayName, grant }: Identity, next: () => void): void {
  data.name = name;
  data.displayName = displayName;
  data.grant = grant;
  next();
}

function reject(reports: Reports, socket: ChatSocket, error: unknown, next: (error?: Error) => void): void {
  admitted(socket);
  if (error instanceof GjallarError) {
    reports.rejected(error.code, socket.request as unknown as EngineRequest);
  }
  // socket.io sends a CONNECT_ERROR with the error's message and `data`.
  next(error instanceof GjallarError ? Object.assign(error, { data: failureOf(error) }) : (error as Error));
}
