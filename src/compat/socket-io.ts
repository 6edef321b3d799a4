import { createRequire } from 'node:module';
import type { Namespace, Server, Socket } from 'socket.io';
import type { Adapter, BroadcastOptions } from 'socket.io-adapter';

/**
 * All private parts of socket.io and socket.io-adapter that gjallar relies on. Checked against socket.io 4.6 to 4.8 and
 * socket.io-adapter 2.5. `test/compat/socket-io.test.ts` fails if a new version breaks one of them.
 */

/** The range of socket.io versions that this file was checked against. */
export const CHECKED_VERSIONS = { from: '4.6.0', below: '5.0.0' } as const;

/** The installed version of socket.io. */
export function installedVersion(): string {
  const { version } = createRequire(import.meta.url)('socket.io/package.json') as { version: string };
  return version;
}

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

/** The method with which subclasses of ClusterAdapter send to the other servers. */
export interface Publisher {
  publish(message: { type: number; data: object }): void;
}

export function publisherOf(adapter: Adapter): Publisher {
  return adapter as unknown as Publisher;
}

/** The methods with which subclasses of ClusterAdapter receive. Those on Redis decode in `onRawMessage`. */
export interface ReceivingSteps {
  onMessage(message: unknown, offset?: string): void;
  onResponse(message: unknown): void;
  onRawMessage?(...values: unknown[]): void;
}

export function receivingStepsOf(adapter: Adapter): ReceivingSteps {
  return adapter as unknown as ReceivingSteps;
}

/** Whether the server has the option `connectionStateRecovery`. */
export function wantsRecovery(nsp: Namespace): boolean {
  const { opts } = nsp.server as unknown as { opts: { connectionStateRecovery?: unknown } };
  return Boolean(opts.connectionStateRecovery);
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
