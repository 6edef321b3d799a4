import { createRequire } from 'node:module';
import type { Namespace, Server, Socket } from 'socket.io';
import type { Adapter, BroadcastOptions } from 'socket.io-adapter';

/**
 * What gjallar relies on in private parts of socket.io and socket.io-adapter, all of it here. Checked against socket.io
 * 4.6 to 4.8 and socket.io-adapter 2.5; `test/compat/socket-io.test.ts` fails when a new version breaks one of them.
 */

/** The versions of socket.io that this was checked against: from, and below. */
export const CHECKED_VERSIONS = { from: '4.6.0', below: '5.0.0' } as const;

/** The version of the socket.io that is installed. */
export function installedVersion(): string {
  const { version } = createRequire(import.meta.url)('socket.io/package.json') as { version: string };
  return version;
}

/** A packet as socket.io hands it to the adapter. */
export interface BroadcastPacket {
  /** Set when acknowledgements are expected, which have to be noted socket by socket. */
  id?: number;
}

/** Calls back for each socket that is to get a broadcast. */
export type Deliver = (socket: Socket) => void;

/**
 * The steps of `Adapter.broadcast()`: first `_encode`, then `apply`. If they should be named differently one day,
 * broadcasts are delivered by the adapter itself: slower, and still right.
 */
export interface BroadcastSteps<Encoded> {
  _encode(packet: BroadcastPacket, options: object): Encoded;
  apply(options: BroadcastOptions, deliver: Deliver): void;
}

export function broadcastStepsOf<Encoded>(adapter: Adapter): BroadcastSteps<Encoded> {
  return adapter as unknown as BroadcastSteps<Encoded>;
}

/** What subclasses of ClusterAdapter send to the other servers with. */
export interface Publisher {
  publish(message: { type: number; data: object }): void;
}

export function publisherOf(adapter: Adapter): Publisher {
  return adapter as unknown as Publisher;
}

/** Whether the server has the option `connectionStateRecovery`. */
export function wantsRecovery(nsp: Namespace): boolean {
  const { opts } = nsp.server as unknown as { opts: { connectionStateRecovery?: unknown } };
  return Boolean(opts.connectionStateRecovery);
}

/** The namespace of an adapter, which its declaration keeps to itself. */
export function namespaceOf(adapter: Adapter): Namespace {
  return adapter.nsp as unknown as Namespace;
}

/** The class that the server reads packets with. */
export function decoderOf(server: Server): new () => never {
  return (server as unknown as { _parser: { Decoder: new () => never } })._parser.Decoder;
}

/** Where a Socket keeps the listeners of `onAnyOutgoing()`. */
export const ANY_OUTGOING_LISTENERS = '_anyOutgoingListeners';
