import type { Namespace, RemoteSocket, Server, Socket } from 'socket.io';
import type { Adapter, BroadcastOptions } from 'socket.io-adapter';
import { privateParts } from './socket-io-server.js';

/**
 * All private parts of socket.io's namespaces and sockets and of socket.io-adapter that gjallar relies on. Those of its
 * Server are in `socket-io-server.ts`; `socket-memory.ts` replaces a field of its Socket. Checked against socket.io 4.6 to
 * 4.8 and socket.io-adapter 2.5. `test/compat/socket-io.test.ts` fails if a new version breaks one of them.
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

/**
 * For how long sessions can be recovered, in ms, and after what time a client that is not known to be gone has received
 * everything.
 */
export function recoveryTimesOf({ server }: Namespace): { durationMs: number; silenceMs: number } {
  const { opts, engine } = privateParts(server);
  const durationMs = opts.connectionStateRecovery?.maxDisconnectionDuration ?? 0;
  const settings = (engine as { settings?: { pingInterval: number; pingTimeout: number } } | undefined)?.settings;
  const { pingInterval = 25_000, pingTimeout = 20_000 } = settings ?? opts;
  // The answered ping was sent up to `pingTimeout` before its answer. A worker that was busy has noticed its end later.
  return { durationMs, silenceMs: 2 * (pingInterval + pingTimeout) + pingTimeout };
}

/** The secret by which a client recovers a socket. */
export function pidOf(socket: Socket): string {
  return (socket as unknown as { pid: string }).pid;
}

/** The steps of sending a packet to one socket, as the adapter takes them. */
export interface PacketSteps {
  notifyOutgoingListeners(packet: unknown): void;
  readonly client: { writeToEngine(packets: readonly unknown[], options: object): void };
}

export function packetStepsOf(socket: Socket): PacketSteps {
  return socket as unknown as PacketSteps;
}

interface AnsweringSocket {
  /** Acknowledgements that the server waits for. */
  readonly acks: ReadonlyMap<number, unknown>;
  /** Creates the function that answers an event of the client. */
  ack(id: number): (...values: unknown[]) => void;
}

/** Counts what has begun and not ended, by what it belongs to. */
class Unfinished {
  private readonly counts = new WeakMap<object, number>();

  /** @returns what ends it. Further calls have no effect. */
  begin(owner: object): () => void {
    const add = (change: number) => this.counts.set(owner, (this.counts.get(owner) ?? 0) + change);
    let isOver = false;
    add(1);
    return () => {
      if (!isOver) add(-1);
      isOver = true;
    };
  }

  has(owner: object): boolean {
    return (this.counts.get(owner) ?? 0) > 0;
  }
}

/** Events that wait for their answer, by socket. */
const unanswered = new Unfinished();

/** Counts the events of a socket that wait for their answer. */
export function countAnswers(socket: Socket): void {
  const answering = socket as unknown as AnsweringSocket;
  const { ack } = answering;
  answering.ack = (id) => {
    const answer = ack.call(answering, id);
    const end = unanswered.begin(socket);
    return (...values) => {
      end();
      answer(...values);
    };
  };
}

/**
 * Whether an exchange with a client has begun and not ended: one of the two waits for an acknowledgement, or the server
 * for the attachments of a packet.
 */
export function isMidExchange(socket: Socket): boolean {
  const { acks } = socket as unknown as AnsweringSocket;
  return acks.size > 0 || unanswered.has(socket) || Boolean(clientOf(socket).decoder.reconstructor);
}

/** The steps in which socket.io connects a client to a namespace. */
interface ConnectingSteps {
  /** Looks the session of a returning client up, and then begins with the middlewares. */
  _add(client: { conn: object }, ...values: unknown[]): Promise<void>;
  /** Calls `done` after the middlewares. The client is connected, or rejected, in the next tick. */
  run(socket: { conn: object }, done: (error: unknown) => void): void;
}

/** Such steps, by session. */
const connecting = new Unfinished();

/** Counts the clients that connect to a namespace from now on. */
export function countConnecting(nsp: Namespace): void {
  const steps = nsp as unknown as ConnectingSteps;
  const { _add, run } = steps;
  steps._add = async (client, ...values) => {
    const end = connecting.begin(client.conn);
    await _add.call(nsp, client, ...values).finally(end);
  };
  steps.run = (socket, done) => {
    const end = connecting.begin(socket.conn);
    run.call(nsp, socket, (error) => {
      done(error);
      process.nextTick(end);
    });
  };
}

/** Whether a client waits for the answer to a CONNECT packet, to a namespace whose clients are counted. */
export function isConnecting(session: object): boolean {
  return connecting.has(session);
}

interface ClientParts {
  readonly nsps: ReadonlyMap<string, Socket>;
  /** `reconstructor` is set while attachments are missing. */
  readonly decoder: { readonly reconstructor?: unknown };
}

function clientOf(socket: Socket): ClientParts {
  return socket.client as unknown as ClientParts;
}

/** The sockets of the same client, by namespace. */
export function socketsOfClient(socket: Socket): ReadonlyMap<string, Socket> {
  return clientOf(socket).nsps;
}

/**
 * Stops an adapter from adding offsets of its own, and from ignoring broadcasts to rooms without members here. The
 * methods belong to ClusterAdapter and to `@socket.io/redis-adapter`.
 */
export function passEverything(adapter: Adapter): void {
  Object.assign(adapter, { addOffsetIfNecessary: () => {}, hasRoom: () => true });
}

/** Turns the option `connectionStateRecovery` off, for all namespaces of the server. */
export function turnOffRecovery(nsp: Namespace): void {
  privateParts(nsp.server).opts.connectionStateRecovery = undefined;
}

/** The packets that a `SessionAwareAdapter` keeps for clients that return, in order. */
export function packetsKeptBy(adapter: Adapter): { readonly data: unknown }[] {
  return (adapter as unknown as { packets: { readonly data: unknown }[] }).packets;
}

/** The namespace of an adapter, which its declaration makes private. */
export function namespaceOf(adapter: Adapter): Namespace {
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
