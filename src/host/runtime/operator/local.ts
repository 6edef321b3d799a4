import type { Namespace, Server, Socket } from 'socket.io';
import type { Backplane } from '../../../cluster/backplanes/index.js';
import type { Engine } from '../../../engine/engine.js';
import { canonicalAddress } from '../../../engine/limits/address-limits.js';
import { privateParts } from '../../../io/socket-io-server.private.js';
import type { Action, OperatorSeam, Target } from './actions.js';

/** The clients of one worker. */
export interface LocalClients {
  readonly servers: readonly Server[];
  readonly engines: readonly Engine[];
  readonly backplanes: readonly Backplane[];
  readonly seam: OperatorSeam;
}

/** The part of a session that the actions use. Sessions of stock engines have it, too. */
interface Connection {
  readonly id: string;
  readonly remoteAddress: string | undefined;
  close(): void;
}

/** What became of the clients of one worker. */
export interface Ended {
  /** How many there were. */
  count: number;
  /** The ids of the sockets of clients that were offline. Other workers of the machine name them, too. */
  kept: string[];
}

/** Acts on the clients of this worker. */
export async function act(clients: LocalClients, given: Action): Promise<Ended> {
  const action = withNames(given, clients.seam);
  const target = action.type === 'disconnect' ? action.target : action;
  const count = actOnConnected(clients, action);
  const kept = await Promise.all(clients.backplanes.map((backplane) => backplane.removeSessions?.(target) ?? []));
  return { count, kept: kept.flat() };
}

/** The action, with names as the application writes them. */
function withNames(action: Action, { nameOf }: OperatorSeam): Action {
  if (!nameOf) return action;
  if (action.type === 'close-room') return { ...action, room: nameOf(action.room) };
  return 'user' in action.target ? { ...action, target: { user: nameOf(action.target.user) } } : action;
}

function actOnConnected(clients: LocalClients, action: Action): number {
  if (action.type === 'disconnect') return disconnect(clients, action.target);
  const { room, namespace } = action;
  if (namespace === '/' && clients.seam.closeRoom) return clients.seam.closeRoom(room);
  return clients.servers.reduce((count, io) => {
    const found = privateParts(io)._nsps.get(namespace);
    return count + (found ? closeRoom(found, room) : 0);
  }, 0);
}

function disconnect({ servers, engines, seam }: LocalClients, target: Target): number {
  const matches = matcherOf(target, seam);
  const sockets = new Map<Connection, Socket[]>();
  for (const socket of allSockets(servers)) {
    const connection = socket.conn as unknown as Connection;
    const others = sockets.get(connection);
    if (others) others.push(socket);
    else sockets.set(connection, [socket]);
  }
  // Sessions that have not connected to a namespace yet have no socket.
  for (const { clients } of engines) {
    for (const session of Object.values(clients)) if (!sockets.has(session)) sockets.set(session, []);
  }
  let count = seam.disconnectOthers?.(target) ?? 0;
  for (const [connection, own] of sockets) {
    if (!matches(connection, own)) continue;
    count++;
    for (const socket of own) seam.beforeDisconnect?.(socket);
    if (own.length > 0) own[0]!.disconnect(true);
    else connection.close();
  }
  return count;
}

function matcherOf(target: Target, seam: OperatorSeam): (connection: Connection, sockets: Socket[]) => boolean {
  if ('user' in target) return (_, sockets) => sockets.some((socket) => seam.userOf(socket) === target.user);
  if ('id' in target) return ({ id }, sockets) => id === target.id || sockets.some((socket) => socket.id === target.id);
  const address = canonicalAddress(target.address);
  return ({ remoteAddress }) => remoteAddress !== undefined && canonicalAddress(remoteAddress) === address;
}

function* allSockets(servers: readonly Server[]): Iterable<Socket> {
  for (const io of servers) for (const { sockets } of privateParts(io)._nsps.values()) yield* sockets.values();
}

/** Takes the sockets of this worker out of a room. */
function closeRoom({ adapter, sockets }: Namespace, room: string): number {
  const ids = [...(adapter.rooms.get(room) ?? [])].filter((id) => id !== room);
  // The room of a socket's own id stays: acknowledgements and messages to the socket need it.
  for (const id of ids) void sockets.get(id)?.leave(room);
  return ids.length;
}
