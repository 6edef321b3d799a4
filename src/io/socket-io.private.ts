import type { Namespace, RemoteSocket, Server, Socket } from 'socket.io';
import type { Adapter, BroadcastOptions, SocketId } from 'socket.io-adapter';
import { replaceMethod } from '../base/foreign-objects.private.js';
import { sendable } from '../base/sendable.js';
import { noteEntered } from '../engine/parser/parser.js';
import { privateParts } from './socket-io-server.private.js';

/**
 * All private parts of socket.io's namespaces and sockets and of socket.io-adapter that gjallar relies on. Those of its
 * Server are in `socket-io-server.private.ts`; `rooms/socket-memory.private.ts` replaces a field of its Socket. Checked against socket.io 4.6 to
 * 4.8 and socket.io-adapter 2.5. `test/io/socket-io.test.ts` fails if a new version breaks one of them.
 */

/** A packet as socket.io passes it to the adapter. */
export interface BroadcastPacket {
  /** Set if acknowledgements are expected, which socket.io must register for each socket. */
  id?: number;
}

/** Called for each socket that a broadcast is for. */
export type Deliver = (socket: Socket) => void;

/**
 * The steps of `Adapter.broadcast()`: first `_encode`, then `apply`. If a new version renames them, the adapter itself
 * delivers broadcasts: more slowly, but correctly.
 */
export interface BroadcastSteps<Encoded> {
  _encode(packet: BroadcastPacket, options: object): Encoded;
  apply(options: BroadcastOptions, deliver: Deliver): void;
}

export function broadcastStepsOf<Encoded>(adapter: Adapter): BroadcastSteps<Encoded> {
  return adapter as unknown as BroadcastSteps<Encoded>;
}

/** Whether the server has the option `connectionStateRecovery`. */
export function wantsRecovery(nsp: Namespace): boolean {
  return Boolean(privateParts(nsp.server).opts.connectionStateRecovery);
}

/** What the settings of a server mean for recovery. */
export interface RecoverySettings {
  /** For how long sessions can be recovered, in ms. */
  readonly durationMs: number;
  /** After what time a client that is not known to be gone has received everything, in ms. */
  readonly silenceMs: number;
  /** Whether what one socket is sent alone is copied at once, in case that its worker is killed. */
  readonly killedWorkers: boolean;
  /** How many bytes may wait for one client; undefined without a limit. */
  readonly maxBackpressure: number | undefined;
}

export function recoverySettingsOf({ server }: Namespace): RecoverySettings {
  const { opts, engine } = privateParts(server);
  type Recovery = { maxDisconnectionDuration?: number; killedWorkers?: boolean };
  const recovery: Recovery = opts.connectionStateRecovery ?? {};
  const { maxDisconnectionDuration: durationMs = 0, killedWorkers = true } = recovery;
  type Settings = { pingInterval: number; pingTimeout: number; maxBackpressure?: number };
  const settings = (engine as { settings?: Settings } | undefined)?.settings;
  const { pingInterval = 25_000, pingTimeout = 20_000 } = settings ?? opts;
  // The answered ping was sent up to two `pingTimeout` before its answer, and the next one is waited for as long. A worker
  // that was busy has noticed its end later.
  const maxBackpressure = settings?.maxBackpressure || undefined;
  return { durationMs, silenceMs: 2 * (pingInterval + pingTimeout) + 3 * pingTimeout, killedWorkers, maxBackpressure };
}

/** The secret by which a client recovers a socket. */
export function pidOf(socket: Socket): string {
  return (socket as unknown as { pid: string }).pid;
}

/** Notes that a socket has entered a namespace, unless it is the first one of its client. */
export function noteFurtherNamespace(socket: Socket): void {
  const { sockets, decoder } = socket.client as unknown as { sockets: ReadonlyMap<string, Socket>; decoder: unknown };
  // socket.io adds this one afterwards.
  if (sockets.size > 0) noteEntered(decoder, socket.nsp.name, socket);
}

/** The steps of sending a packet to one socket, as the adapter takes them. */
export interface PacketSteps {
  notifyOutgoingListeners(packet: unknown): void;
  readonly client: { writeToEngine(packets: readonly unknown[], options: object): void };
}

export function packetStepsOf(socket: Socket): PacketSteps {
  return socket as unknown as PacketSteps;
}

/** Calls the listeners of an event between servers. The last argument may be a function that answers. */
export function emitServerSide(nsp: Namespace, packet: readonly unknown[]): void {
  (nsp as unknown as { _onServerSideEmit(packet: readonly unknown[]): void })._onServerSideEmit(packet);
}

/** What socket.io's Client has. */
export interface NamespaceClient {
  /** The sockets of its namespaces. */
  readonly nsps: ReadonlyMap<string, Socket>;
  _packet(packet: object): void;
}

/** Bounds the clients that connect to a namespace. */
interface Connecting {
  mayConnect(client: NamespaceClient): boolean;
  refused(client: NamespaceClient): void;
  began(client: NamespaceClient): void;
  /** It is connected, or is not let in. */
  ended(client: NamespaceClient): void;
}

const bounded = new WeakSet<object>();
/** How many clients connect to a namespace. It is not empty, also while their sessions are looked for. */
const arriving = new WeakMap<Namespace, number>();
const arrivingAt = (nsp: Namespace): number => arriving.get(nsp) ?? 0;

/** Asks before each client that connects to a namespace. */
export function onConnecting(nsp: Namespace, { mayConnect, refused, began, ended }: Connecting): void {
  // A further adapter of the same namespace.
  if (bounded.has(nsp)) return;
  bounded.add(nsp);
  const steps = nsp as unknown as { _remove(socket: unknown): void };
  const count = (by: 1 | -1) => arriving.set(nsp, arrivingAt(nsp) + by);
  replaceMethod(nsp, '_add', (_nsp, args, add) => {
    const [client, auth, connected] = args as [NamespaceClient, unknown, (socket: Socket) => void];
    if (!mayConnect(client)) return refused(client);
    keepForArriving();
    began(client);
    count(1);
    return add(client, auth, (socket: Socket) => {
      count(-1);
      ended(client);
      connected(socket);
    });
  });
  replaceMethod(nsp, '_remove', (_nsp, [socket], remove) => {
    const { id, client } = socket as Socket;
    if (!nsp.sockets.has(id)) {
      count(-1);
      ended(client as unknown as NamespaceClient);
    }
    remove(socket);
  });
  let { _remove: remove } = steps;
  // The parent of a child namespace has it removed with its last socket. It adds that once the child is made.
  function keepForArriving(): void {
    if (steps._remove === remove) return;
    const removeOne = remove;
    replaceMethod(nsp, '_remove', (_nsp, [socket], removeIfEmpty) => {
      const others = arrivingAt(nsp) - (nsp.sockets.has((socket as Socket).id) ? 0 : 1);
      if (others > 0) removeOne.call(nsp, socket);
      else removeIfEmpty(socket);
    });
    remove = steps._remove;
  }
}

interface Children {
  readonly children?: Set<Namespace>;
}

function parentsOf(server: Server): Children[] {
  const { parentNsps } = server as unknown as { parentNsps?: ReadonlyMap<unknown, Children> };
  return [...(parentNsps?.values() ?? [])];
}

const childrenOf = (server: Server) => parentsOf(server).reduce((sum, { children }) => sum + (children?.size ?? 0), 0);

/**
 * Asks before a client creates a dynamic namespace.
 * @param mayCreate gets the number of those that there are
 */
export function onNewNamespace(server: Server, mayCreate: (children: number, name: string) => boolean): void {
  if (bounded.has(server)) return;
  bounded.add(server);
  replaceMethod(server, '_checkNamespace', (_server, args, check) => {
    if (parentsOf(server).length === 0 || mayCreate(childrenOf(server), args[0] as string)) check(...args);
  });
}

/** Removes the dynamic namespaces without clients, as `cleanupEmptyChildNamespaces` does. Returns how many stay. */
export function removeEmptyChildren(server: Server): number {
  const { _nsps: namespaces } = privateParts(server) as unknown as { _nsps: Map<string, Namespace> };
  for (const { children = new Set<Namespace>() } of parentsOf(server)) {
    for (const child of children) {
      if (child.sockets.size > 0 || arrivingAt(child) > 0) continue;
      child.adapter.close();
      namespaces.delete(child.name);
      children.delete(child);
    }
  }
  return childrenOf(server);
}

type End = (adapter: Adapter) => unknown;
const ends = new WeakMap<Adapter, Set<End>>();

/**
 * Has something end with an adapter: socket.io closes it with the server, and with a child namespace that it removes. What was
 * added last ends first, once, and may still send over the adapter.
 * @param end what it returns is awaited
 */
export function endWith(adapter: Adapter, end: End): void {
  const known = ends.get(adapter);
  if (known) return void known.add(end);
  const all = new Set([end]);
  ends.set(adapter, all);
  replaceMethod(adapter, 'close', async (_adapter, _args, close) => {
    for (const one of [...all].reverse()) await one(adapter);
    await close();
  });
}

/** The acknowledgement of a broadcast is not waited for any more. */
export function forgetAcknowledgement(socket: Socket | undefined, { id }: BroadcastPacket): void {
  if (socket && id !== undefined) (socket as unknown as { acks: Map<number, unknown> }).acks.delete(id);
}

/** The steps in which socket.io looks the session of a returning client up, and begins with the middlewares. */
interface ConnectingSteps {
  _add(client: object, auth: object, ...values: unknown[]): Promise<void>;
  run(socket: Socket, ...values: unknown[]): void;
}

/**
 * Gives the new sockets of a namespace other ids than socket.io does. One that is recovered keeps its own. Clients of Socket.IO v2
 * work their id out from that of their session.
 */
export function giveIds(nsp: Namespace, idOf: () => SocketId): void {
  replaceMethod(nsp, '_createSocket', async (_nsp, args, create) => {
    const socket = (await create(...args)) as Socket;
    const given: { id: SocketId } = socket;
    if (!socket.recovered && (socket.conn as { protocol: number }).protocol !== 3) given.id = idOf();
    return socket;
  });
}

/** The ids that new sockets of a namespace get. A middleware may replace them. */
export function givenIdsOf(nsp: Namespace): WeakMap<Socket, SocketId> {
  const ids = new WeakMap<Socket, SocketId>();
  const steps = nsp as unknown as ConnectingSteps;
  const { run } = steps;
  steps.run = (socket, ...values) => {
    ids.set(socket, socket.id);
    run.call(nsp, socket, ...values);
  };
  return ids;
}

/**
 * Gives an offset to clients that return without one: they have received no event yet. socket.io would not look for their
 * sessions.
 */
export function completeOffsets(nsp: Namespace, offset: string): void {
  const steps = nsp as unknown as ConnectingSteps;
  const { _add } = steps;
  steps._add = (client, auth, ...values) => {
    const { pid, offset: named } = auth as { pid?: unknown; offset?: unknown };
    const lacksOffset = typeof pid === 'string' && named === undefined;
    return _add.call(nsp, client, lacksOffset ? { ...auth, offset } : auth, ...values);
  };
}

/** Stops `@socket.io/redis-adapter` from ignoring broadcasts to rooms without members here. */
export function passEverything(adapter: Adapter): void {
  Object.assign(adapter, { hasRoom: () => true });
}

/** Turns the option `connectionStateRecovery` off, for all namespaces of the server. */
export function turnOffRecovery(nsp: Namespace): void {
  privateParts(nsp.server).opts.connectionStateRecovery = undefined;
}

/** The namespace of an adapter, which its declaration makes private. */
export function nspOf(adapter: Adapter): Namespace {
  return adapter.nsp as unknown as Namespace;
}

/** The class with which the server reads packets. */
export function decoderOf(server: Server): new () => never {
  return (server as unknown as { _parser: { Decoder: new () => never } })._parser.Decoder;
}

/** The field in which a Socket keeps the listeners of `onAnyOutgoing()`. */
export const ANY_OUTGOING_LISTENERS = '_anyOutgoingListeners';

/** Calls the listeners of `onAnyOutgoing()`, as `Adapter.broadcast()` does for each recipient. */
export function notifyOutgoingListeners(socket: Socket, packet: BroadcastPacket): void {
  (socket as unknown as { notifyOutgoingListeners(packet: BroadcastPacket): void }).notifyOutgoingListeners(packet);
}

/** How a worker describes a socket of its own to others. */
export interface SocketDetails {
  readonly id: string;
  readonly handshake: object;
  readonly rooms: readonly string[];
  readonly data: unknown;
}

/** How adapters describe a socket of this worker. Sessions of express refer to the request: their store is left out. */
export function detailsOf({ id, handshake, rooms, data }: Socket): SocketDetails {
  return { id, handshake: { ...handshake, sessionStore: undefined }, rooms: [...rooms], data };
}

/** A description without what JSON cannot express. */
export function sendableSocket(details: SocketDetails): SocketDetails {
  const { handshake, data } = details;
  return { ...details, handshake: sendable(handshake, 'socket.handshake'), data: sendable(data, 'socket.data') };
}

// biome-ignore lint/suspicious/noExplicitAny: socket.io's own types for servers with any events
type RemoteSockets = RemoteSocket<any, any>[];
type RemoteSocketConstructor = new (adapter: Adapter, details: SocketDetails) => RemoteSockets[number];

/** What `fetchSockets()` returns for sockets of other workers. socket.io does not export their class. */
export async function remoteSocketsOf(nsp: Namespace, details: readonly SocketDetails[]): Promise<RemoteSockets> {
  const [first] = details;
  if (!first) return [];
  const operator = nsp.local;
  Object.assign(operator, { adapter: { fetchSockets: () => Promise.resolve([first]) } });
  const [example] = await operator.fetchSockets();
  const RemoteSocketClass = (example as object).constructor as RemoteSocketConstructor;
  return details.map((one) => new RemoteSocketClass(nsp.adapter, one));
}
