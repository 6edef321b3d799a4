import type { ErrorCode } from '../../errors.js';
import type { NativeWebSocket } from '../http/exchange.js';
import type { Packet, PacketData, PacketOptions, PacketType } from '../protocol/packet.js';

/** The revision of the Engine.IO protocol: 4 since Socket.IO v3, 3 for Socket.IO v2 clients. */
export type Protocol = 3 | 4;

export const transportNames = ['polling', 'websocket'] as const;
export type TransportName = (typeof transportNames)[number];

/** What a transport tells its owner: the session, or the probe of an upgrade. */
export interface TransportOwner {
  /** The session's id, where there is a session. */
  readonly id: string;
  /** Returns false when the transport's remaining packets are of no interest. */
  onPacket(transport: Transport, type: PacketType, data: PacketData | undefined): boolean;
  /** The transport can take packets (again). */
  onReady(transport: Transport): void;
  /** The client has taken some of what waited for it in the transport. */
  onProgress(transport: Transport): void;
  /** More waits for the client than may wait. */
  onOverflow(transport: Transport): void;
  /** The client sends faster than this worker can follow. */
  onFlood(transport: Transport): void;
  /** Everything handed to the transport so far has left it. */
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
  /** The WebSocket, where topics of uWebSockets.js reach the client: on this worker's own port, in the current protocol. */
  readonly nativeSocket: NativeWebSocket | undefined;
  owner: TransportOwner;
  readonly readyState: 'open' | 'closing' | 'closed';
  /** Whether packets can be sent now without waiting: what `volatile` packets ask. */
  readonly writable: boolean;
  /** Sends packets; only called when {@link canSend}. */
  send(packets: readonly Packet[]): void;
  /** Sends one packet; only called when {@link canSend}. */
  sendOne(type: PacketType, data: PacketData | undefined, options: PacketOptions): void;
  /** Bytes that wait in the transport for the client. */
  readonly bufferedAmount: number;
  /** Whether packets are taken at all. A slow WebSocket takes them, and lets them wait. */
  readonly canSend: boolean;
  /** The session has moved on to another transport: whatever this one still does is of no interest. */
  discard(): void;
  /**
   * Closes in order; `done` is called once nothing more can be sent.
   * @param code what the client is told, where the transport can tell it
   */
  close(done?: () => void, code?: ErrorCode): void;
}

/** The owner of a transport that has no session yet, or whose session has moved on or ended. */
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
