import type { ErrorCode } from '../../base/errors.js';
import type { NativeWebSocket } from '../http/exchange.js';
import type { Packet, PacketData, PacketOptions, PacketType } from '../protocol/packet.js';

/** The revision of the Engine.IO protocol: 4 since Socket.IO v3, 3 for Socket.IO v2 clients. */
export type Protocol = 3 | 4;

export const transportNames = ['polling', 'websocket'] as const;
export type TransportName = (typeof transportNames)[number];

/** The owner of a transport, which receives its events: the session, or the probe of an upgrade. */
export interface TransportOwner {
  /** The session's id; empty without a session. */
  readonly id: string;
  /** Returns false if the transport should ignore its remaining packets. */
  onPacket(transport: Transport, type: PacketType, data: PacketData | undefined): boolean;
  /** The transport can send packets (again). */
  onReady(transport: Transport): void;
  /** The client has read some of the bytes that waited in the transport. */
  onProgress(transport: Transport): void;
  /** More than `maxBackpressure` bytes wait for the client. */
  onOverflow(transport: Transport): void;
  /** The client sends faster than this worker can follow. */
  onFlood(transport: Transport): void;
  /** The transport has sent all packets that it was given so far. */
  onDrain(transport: Transport): void;
  onError(transport: Transport, message: string, description?: unknown): void;
  onClose(transport: Transport, description?: unknown): void;
}

/** A low-level connection of a session. Source: Engine.IO v4, "Transports". */
export interface Transport {
  readonly name: TransportName;
  readonly protocol: Protocol;
  /** The session's id. */
  readonly sid: string;
  /** The WebSocket, if topics reach the client: it is on this worker's own port, uses revision 4 and reads binary data. */
  readonly nativeSocket: NativeWebSocket | undefined;
  owner: TransportOwner;
  readonly readyState: 'open' | 'closing' | 'closed';
  /** Whether a packet would be sent now without waiting. Volatile packets require it. */
  readonly writable: boolean;
  /** Sends packets. Call it only if {@link canSend}. */
  send(packets: readonly Packet[]): void;
  /** Sends one packet. Call it only if {@link canSend}. */
  sendOne(type: PacketType, data: PacketData | undefined, options: PacketOptions): void;
  /** Bytes that wait in the transport for the client. */
  readonly bufferedAmount: number;
  /** Reports progress once what the outbox holds for the client was sent. Missing where it holds nothing. */
  progressAfterHeld?(): void;
  /** Whether the transport accepts packets. A slow WebSocket accepts them, and lets them wait. */
  readonly canSend: boolean;
  /** Whether another worker could go on with the session now: nothing waits in the transport, in either direction. */
  readonly canLeave: boolean;
  /** The session has changed to another transport, or has ended. Events of this one are ignored from now on. */
  discard(): void;
  /**
   * Ends in a way that makes every client reconnect, once the client has everything that was sent. Calls `done` once no
   * more packets can be sent.
   */
  dismiss(done: () => void): void;
  /**
   * Closes gracefully. Calls `done` once no more packets can be sent.
   * @param code the error for the client, if the transport can send one
   */
  close(done?: () => void, code?: ErrorCode): void;
}

/** The owner of a transport without a session: before the session exists, and after it has left or ended. */
export const nobody: TransportOwner = {
  id: '',
  onPacket: () => false,
  onReady: () => {},
  onProgress: () => {},
  onOverflow: () => {},
  onFlood: () => {},
  onDrain: () => {},
  onError: () => {},
  onClose: () => {},
};
