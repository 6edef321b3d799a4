import type { Namespace } from 'socket.io';
import { errorCodes } from '../../base/errors.js';
import type { Session } from '../../engine/session/session.js';
import { type NamespaceClient, onConnecting, onNewNamespace, removeEmptyChildren } from '../socket-io.private.js';
import type { RoomsEngine } from './native-rooms.js';

/** How many namespaces each client is connecting to. */
const connecting = new WeakMap<NamespaceClient, number>();

function count(client: NamespaceClient, by: 1 | -1): void {
  connecting.set(client, (connecting.get(client) ?? 0) + by);
}

/** Whether a client is connecting to a namespace. */
export const isConnecting = (client: NamespaceClient): boolean => (connecting.get(client) ?? 0) > 0;

const CODE = 'TOO_MANY_NAMESPACES';
const refusal = { message: errorCodes[CODE].message, data: { code: CODE } };

/** Bounds the namespaces of each client, and those that clients can create. */
export function boundNamespaces(nsp: Namespace, engine: Pick<RoomsEngine, 'settings' | 'sender'>): void {
  onConnecting(nsp, {
    mayConnect: (client) => client.nsps.size + (connecting.get(client) ?? 0) < engine.settings.maxNamespacesPerClient,
    refused: (client) => client._packet(refusalOf(nsp.name)),
    began: (client) => count(client, 1),
    ended: (client) => count(client, -1),
  });
  if (nsp.name !== '/') return;
  onNewNamespace(nsp.server, (children, name) => {
    const { maxNamespaces } = engine.settings;
    if (children < maxNamespaces || removeEmptyChildren(nsp.server) < maxNamespaces) return true;
    const sender = engine.sender as Session | undefined;
    for (const part of nsp.server.encoder.encode(refusalOf(name) as never)) sender?.write(part as string);
    return false;
  });
}

/** A CONNECT_ERROR. */
const refusalOf = (nsp: string) => ({ type: 4, nsp, data: refusal });
